"""SIGTERM at any moment: what was begun is taken down, and the exit code says why."""

import os
import signal
import threading

import pytest

from flashbench.cli import main
from flashbench.serve.signals import TERMINATED, ending_on_sigterm


def test_sigterm_ends_what_runs_also_after_another_has_taken_the_signal():
    before, taken_down = signal.getsignal(signal.SIGTERM), []
    with pytest.raises(SystemExit, match=str(TERMINATED)), ending_on_sigterm() as listen:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as Ray does when it starts
        listen()
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("it went on")
        finally:
            taken_down.append(True)
    assert taken_down == [True]
    assert signal.getsignal(signal.SIGTERM) is before


def test_outside_the_main_thread_nothing_is_changed():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def elsewhere():
        with ending_on_sigterm() as listen:
            listen()
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]


def test_the_command_line_tells_it_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr("flashbench.serve.run_serve", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit, match=str(TERMINATED)), ending_on_sigterm():
        main(["serve"])
    assert capsys.readouterr().err == "interrupted\n"
