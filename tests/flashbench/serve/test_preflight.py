"""What `specflash serve` finds out before Ray starts."""

import socket
from pathlib import Path

import pytest

from flashbench.serve.preflight import check_methods, free_port
from flashbench.settings import ServeSettings, Settings, TargetSettings
from specflash.drafts.store import make_draft, save_draft
from specflash.errors import UserError
from specflash.targets import target_fingerprint
from tests.tiny import save_tiny_llava

SHAPE = {"head_dim": 8, "inner": 16}


def settings_for(run: Path, **serve) -> Settings:
    tree = {"name": "t", "run": run, "dump": {"source": {"dataset": "llava-instruct"}},
            "bench": {"tasks": {"any": {"source": {"dataset": "photographs"}}}},
            "serve": serve}
    return Settings.model_validate(tree)


def test_vanilla_needs_no_training(tmp_path):
    check_methods(settings_for(tmp_path, methods=["vanilla"]))


@pytest.mark.parametrize(("methods", "message"), [
    ([], "serve.methods is empty"),
    (["vanilla", "vanilla"], "serve.methods names `vanilla` twice"),
    (["specflsh"], r"unknown method `specflsh` \(did you mean `specflash`\?\)"),
    (["eagle"], r"no draft in .*eagle: config.json is missing; train one with `specflash train`"),
])
def test_methods_that_cannot_be_served_are_told_before_anything_starts(tmp_path, methods, message):
    with pytest.raises(UserError, match=message):
        check_methods(settings_for(tmp_path, methods=methods))


@pytest.mark.parametrize(("ab", "message"), [
    ({"weights": {"eagle": 1}}, "`weights` names `eagle`, which is not served; served: vanilla"),
    ({"shadow": {"method": "vanila", "share": 0.5}}, r"`serve.ab.shadow.method` names `vanila`.*mean `vanilla`"),
])
def test_who_is_not_served_can_neither_answer_auto_nor_be_a_shadow(tmp_path, ab, message):
    with pytest.raises(UserError, match=message):
        check_methods(settings_for(tmp_path, methods=["vanilla"], ab=ab))


def test_a_draft_of_another_target_is_told_before_anything_starts(tmp_path):
    ours, other = (save_tiny_llava(tmp_path / name, seed) for name, seed in (("ours", 0), ("other", 1)))
    target = {"name": "llava-1.5", "weights": str(ours)}
    settings = settings_for(tmp_path, methods=["eagle"]).model_copy(update={
        "target": TargetSettings(**target), "drafts": {"eagle": SHAPE}})
    draft = make_draft("eagle", SHAPE, width=32)
    save_draft(draft, settings.draft_folder("eagle"), "llava-1.5", target_fingerprint("llava-1.5", str(other)))
    with pytest.raises(UserError, match="was trained for other weights"):
        check_methods(settings)
    save_draft(draft, settings.draft_folder("eagle"), "llava-1.5", target_fingerprint("llava-1.5", str(ours)))
    check_methods(settings)
    with pytest.raises(UserError, match=r"other settings than drafts.eagle \(k 4 → 2\)"):
        check_methods(settings.model_copy(update={"drafts": {"eagle": {**SHAPE, "k": 2}}}))


def test_port_0_takes_a_free_one():
    port = free_port(ServeSettings(port=0))
    with socket.create_server(("127.0.0.1", port)):
        pass  # it can be listened on


def test_a_port_in_use_is_named_with_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(UserError) as caught:
            free_port(ServeSettings(port=port))
    assert str(caught.value) == (f"port {port} on 127.0.0.1 is in use; stop what listens there, or choose another "
                                 f"with serve.port={port + 1} (0 takes a free one)")


def test_a_host_that_is_not_ours_is_one_line():
    with pytest.raises(UserError, match=r"cannot listen on 203\.0\.113\.1 port 8000: "):
        free_port(ServeSettings(host="203.0.113.1"))
