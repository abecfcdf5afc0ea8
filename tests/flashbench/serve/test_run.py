"""`specflash serve` around the server: what it says, how it ends, how a replica's failure reads."""

import os
import signal
import threading
from contextlib import contextmanager

import pytest

from flashbench.serve import run
from flashbench.serve.app import AppArgs, build_app
from flashbench.settings import Settings, save_settings
from specflash.errors import UserError


@pytest.fixture
def settings(tmp_path):
    return Settings.model_validate({"name": "t", "run": tmp_path,
                                    "bench": {"tasks": {"any": {"source": {"dataset": "photographs"}}}},
                                    "dump": {"source": {"dataset": "llava-instruct"}}})


@pytest.fixture
def states(monkeypatch):
    """Stands in for the server: when it was up and when it was taken down."""
    states = []

    @contextmanager
    def fake(settings):
        states.append("up")
        yield "http://127.0.0.1:1234"
        states.append("down")

    monkeypatch.setattr(run, "serving", fake)
    return states


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_and_the_handlers_are_as_before(settings, states, capsys, number):
    before = signal.getsignal(number)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), number))
    timer.start()
    run.run_serve(settings)
    timer.join()
    assert states == ["up", "down"]
    assert signal.getsignal(number) is before
    shown = capsys.readouterr().out
    assert "http://127.0.0.1:1234/v1 · models: vanilla, eagle, specflash" in shown
    assert "http://127.0.0.1:1234/arena" in shown
    assert "curl http://127.0.0.1:1234/v1/chat/completions" in shown


def test_the_arena_is_opened_where_that_was_asked_for(settings, states, monkeypatch):
    opened = []
    monkeypatch.setattr(run.webbrowser, "open", lambda url: opened.append(url) or True)
    monkeypatch.setattr(run, "wait_for_interrupt", lambda: None)
    run.run_serve(settings)
    run.run_serve(settings, open_page=True)
    assert opened == ["http://127.0.0.1:1234/arena"]


def test_without_blocking_the_caller_ends_it(settings, states):
    served = run.run_serve(settings, blocking=False)
    assert (served.url, states) == ("http://127.0.0.1:1234", ["up"])
    served.stop()
    assert states == ["up", "down"]


def test_a_users_mistake_in_a_replica_is_told_in_its_own_line(settings, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("Deploying failed:\nTraceback …\n  line\nspecflash.errors.UserError: the file is damaged\n")

    monkeypatch.setattr(run.serve, "run", fail)
    with pytest.raises(UserError) as caught:
        run._deploy(settings)
    assert str(caught.value) == "the file is damaged"


def test_a_serve_config_names_the_experiments_file(settings, tmp_path):
    save_settings(settings, tmp_path / "experiment.yaml")
    build_app(AppArgs(config=tmp_path / "experiment.yaml", overrides=["serve.methods=[vanilla]"]))
    with pytest.raises(UserError, match=r"unknown key `serve\.prt`"):
        build_app(AppArgs(config=tmp_path / "experiment.yaml", overrides=["serve.prt=1"]))


@pytest.mark.parametrize(("host", "url"), [("127.0.0.1", "http://127.0.0.1:80"), ("::1", "http://[::1]:80"),
                                           ("localhost", "http://localhost:80")])
def test_the_url_can_be_opened_as_it_is_printed(host, url):
    assert run.url_of(host, 80) == url
