"""A model named as the hub names it: fetched once, from a hub of this test's own, without pickles."""

import json
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import huggingface_hub.constants
import pytest

from specflash.errors import UserError
from specflash.hub import hub_folder, is_hub_name
from specflash.targets import load_ends, load_target, target_fingerprint
from tests.tiny import save_tiny_llava

SHA = "0123456789abcdef0123456789abcdef01234567"
NAME = "somebody/tiny-llava"


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as a download of one repository asks for."""

    def __init__(self, files: Path, asked: list[str], *arguments):
        self.files, self.asked = files, asked
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path = self.path.partition("?")[0]
        if path.startswith(f"/api/models/{NAME}/revision/"):
            return self._json({"id": NAME, "sha": SHA, "siblings": [
                {"rfilename": file.name} for file in self.files.iterdir()]})
        if path.startswith(f"/api/models/{NAME}/tree/"):
            return self._json([{"type": "file", "path": file.name, "size": file.stat().st_size, "oid": file.name}
                               for file in self.files.iterdir()])
        if path.startswith(f"/{NAME}/resolve/{SHA}/"):
            return self._send((self.files / path.rpartition("/")[2]).read_bytes(), "application/octet-stream")
        return self._json({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})

    do_HEAD = do_GET

    def _json(self, value: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(json.dumps(value).encode(), "application/json", status, headers)

    def _send(self, body: bytes, kind: str, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        told = {"Content-Type": kind, "Content-Length": str(len(body)), "X-Repo-Commit": SHA,
                "ETag": f'"{self.path.rpartition("/")[2]}"', **(headers or {})}
        for header in told.items():
            self.send_header(*header)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments) -> None:
        pass


@pytest.fixture
def files(tmp_path):
    folder = save_tiny_llava(tmp_path / "files")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    return folder


@pytest.fixture
def asked(files, tmp_path, monkeypatch):
    """The paths that the test's own hub is asked for."""
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, files, asked))
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub._snapshot_download.HfApi", partial(
        huggingface_hub.HfApi, endpoint=f"http://127.0.0.1:{server.server_port}"))
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE",
                        f"http://127.0.0.1:{server.server_port}" + "/{repo_id}/resolve/{revision}/{filename}")
    hub_folder.cache_clear()
    yield asked
    hub_folder.cache_clear()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("weights", "is_one"), [
    ("llava-hf/llava-1.5-7b-hf", True), ("a/b@v1.0", True), ("/a/b", False), ("./a", False), ("../a", False),
    ("a", False), ("a/b/c", False), ("~/b", False), ("a/b@", False), ("specflash/weights", False)])
def test_a_name_of_the_hub_is_no_folder_that_is_here(weights, is_one):
    assert is_hub_name(weights) is is_one


def test_a_name_loads_what_the_folder_loads_and_no_pickle_is_fetched(asked, files):
    assert load_target("llava-1.5", NAME).fingerprint == target_fingerprint("llava-1.5", str(files))
    assert {file.name for file in hub_folder(NAME).iterdir()} == {file.name for file in files.iterdir()} - {
        "pytorch_model.bin"}


def test_the_hub_is_asked_once(asked):
    target_fingerprint("llava-1.5", NAME)
    before = len(asked)
    load_ends("llava-1.5", NAME)
    assert len(asked) == before > 0


def test_a_pinned_revision_that_is_here_needs_no_hub(asked):
    first = hub_folder(f"{NAME}@{SHA}")
    hub_folder.cache_clear()
    asked.clear()
    assert hub_folder(f"{NAME}@{SHA}") == first
    assert asked == []


def test_what_is_here_serves_where_the_hub_is_away(asked, monkeypatch):
    first = hub_folder(NAME)
    hub_folder.cache_clear()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert hub_folder(NAME) == first


@pytest.mark.parametrize("offline", [False, True])
def test_a_model_that_nobody_has_is_told_in_one_line(asked, monkeypatch, offline):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", offline)
    with pytest.raises(UserError, match="nobody/nothing is no folder here, and the model hub does not give it") as told:
        load_target("llava-1.5", "nobody/nothing")
    assert "\n" not in str(told.value)
