"""The optional key: who gets in, what the others are told, and where it may come from."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from flashbench.serve.ab.live import Live, Place
from flashbench.serve.ab.routes import everybody
from flashbench.serve.api import build_api
from flashbench.serve.api_key import KeyDoor, read_key
from flashbench.settings import ServeSettings
from specflash.errors import UserError


@pytest.fixture(scope="module")
def client():
    decoders, limits = {"vanilla": None}, ServeSettings()
    live = Live(decoders, limits.ab, Place(Path("nowhere"), flush=None))
    api = build_api(decoders, limits, "llava-smol", live, everybody)
    api.add_middleware(KeyDoor, key="s3cret")
    return TestClient(api)


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"},
                                    {"Authorization": "Bearer s3cret2"}, {"Authorization": b"Bearer \xe9"}])
@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions", "/ab/stats", "/docs"])
def test_without_the_key_nothing_is_told(client, path, header):
    response = client.post(path, headers=header, content=b"{" * 1000)
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    assert response.json() == {"error": {
        "message": "this server wants an API key: send the header `Authorization: Bearer KEY` with the right one",
        "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}}


def test_with_the_key_all_is_as_without_one(client):
    assert client.get("/v1/models", headers={"Authorization": "Bearer s3cret"}).json()["data"][0]["id"] == "vanilla"


@pytest.mark.parametrize("path", ["/healthz", "/health", "/version", "/", "/arena", "/arena/setup", "/arena/arena.js"])
def test_who_watches_or_reads_the_page_needs_no_key(client, path):
    assert client.get(path).status_code == 200


def test_the_key_comes_from_the_environment(monkeypatch):
    assert read_key(None) is None
    monkeypatch.setenv("OUR_KEY", "s3cret")
    assert read_key("OUR_KEY") == "s3cret"
    monkeypatch.setenv("OUR_KEY", "")
    with pytest.raises(UserError, match=r"OUR_KEY, which is not set: `export OUR_KEY=…` first"):
        read_key("OUR_KEY")
