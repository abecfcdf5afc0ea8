"""What a person sees where there is no terminal: plain lines, never too many, always the last."""

import io

import pytest
from rich.console import Console

from flashbench import console


def test_a_short_step_ends_with_one_line(capsys):
    with console.progress("dump", 3) as advance:
        for _ in range(3):
            advance()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("dump: 3/3 · ")
    assert "left" not in lines[0]


def test_a_long_step_says_how_long_it_will_take(capsys, monkeypatch):
    ticks = iter((0.0, 4.0, 8.0, 12.0, 12.0, 16.0, 20.0, 20.0, 24.0))
    monkeypatch.setattr(console.time, "monotonic", lambda: next(ticks))
    with console.progress("dump", 40) as advance:
        for _ in range(5):
            advance(2)
    assert capsys.readouterr().err.splitlines() == [
        "dump: 6/40 · 0.5/s · 0:01:08 left · 0:00:12 elapsed",
        "dump: 10/40 · 0.5/s · 0:01:00 left · 0:00:20 elapsed"]


def test_a_step_that_fails_still_says_how_far_it_was(capsys):
    with pytest.raises(KeyError), console.progress("dump", None) as advance:
        advance(5)
        raise KeyError
    assert capsys.readouterr().err.startswith("dump: 5 · ")


def test_a_stage_is_announced_and_closed(capsys):
    with console.step("train eagle"):
        assert capsys.readouterr().err == "▶ train eagle\n"
    assert capsys.readouterr().err == "✓ train eagle · 0:00:00\n"


def test_a_stage_that_fails_is_not_called_done(capsys):
    with pytest.raises(KeyError), console.step("train"):
        raise KeyError
    assert "✗ train stopped" in capsys.readouterr().err


def test_results_go_to_stdout_and_progress_does_not(capsys):
    console.say("result [1, 2]")
    console.note("note [3, 4]")
    console.table("accept length", ("draft", "A"), [("eagle", 2.5), ("specflash", console.coloured("3.9", "bold"))])
    out, err = capsys.readouterr()
    assert out.startswith("result [1, 2]\n")
    assert "note" not in out
    assert err == "note [3, 4]\n"
    assert [cell in out for cell in ("accept length", "eagle", "2.5", "3.9", "[bold]")] == [True] * 4 + [False]


def test_brackets_in_a_table_are_shown_as_they_are(capsys):
    console.table("t [/b] [red]", ("[/i] task", "m [bold]"), [("a [/b] c", "x [red] y [/]"), ("\\[1, 2]\\", "[")])
    out = capsys.readouterr().out
    for text in ("t [/b] [red]", "[/i] task", "m [bold]", "a [/b] c", "x [red] y [/]", "\\[1, 2]\\"):
        assert text in out


def test_colons_are_no_pictures(capsys):
    console.say("mlflow:abc: :x:")
    console.note("mlflow:abc: :x:")
    assert capsys.readouterr() == ("mlflow:abc: :x:\n", "mlflow:abc: :x:\n")


def test_a_title_of_a_live_bar_is_shown_as_it_is(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(console, "stderr", Console(file=shown, force_terminal=True, width=100))
    with console.progress("dump [/b]", 1) as advance:
        advance()
    assert "dump [/b]" in shown.getvalue()


def test_a_wide_table_is_not_folded_in_a_file(capsys):
    console.table("wide", ("where",), [("x" * 120,)])
    assert "x" * 120 in capsys.readouterr().out
