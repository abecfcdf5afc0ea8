"""A method that raises costs its own rows and no other's, is refused by name, and is tried again alone."""

import json

import pytest

from flashbench.bench import measure, methods, worker
from flashbench.bench.methods import Engine
from flashbench.bench.rows import AGAIN, VANILLA, read_rows
from flashbench.cli import main
from flashbench.settings import save_settings
from tests.flashbench.experiment import make_experiment

real_decode = Engine.decode


def breaking(method: str, when=lambda prompt: True):
    """The engine's `decode`, which raises for one method."""
    def decode(engine, name, prompt, sampling):
        if name == method and when(prompt):
            raise ZeroDivisionError("the draft\nfell over")
        return real_decode(engine, name, prompt, sampling)
    return decode


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """(settings, summary) of a benchmark in which eagle fails."""
    settings = make_experiment(tmp_path)
    monkeypatch.setattr(methods.Engine, "decode", breaking("eagle"))
    summary = measure(settings)
    monkeypatch.setattr(methods.Engine, "decode", real_decode)
    return settings, summary


def test_the_others_rows_and_speed_ups_are_there(broken):
    settings, summary = broken
    rows = read_rows(settings.run / "bench" / "rows.parquet")
    assert {(row["method"]) for row in rows} == {VANILLA, AGAIN, "specflash", "hf-generate"}
    lines = {line["method"]: line for line in summary["rows"]}
    assert lines["specflash"]["refused"] == []
    assert lines["specflash"]["speedup_decode"] > 0
    assert lines["eagle"]["speedup_decode"] is None
    assert lines["eagle"]["refused"] == ["eagle gave 0 of 3 planned answers: ZeroDivisionError: the draft fell over"]
    assert [failure["reason"] for failure in summary["failures"]] == ["ZeroDivisionError: the draft fell over"] * 3
    assert not summary["valid"]


def test_only_what_failed_is_tried_again(broken, monkeypatch):
    settings, _ = broken
    before = read_rows(settings.run / "bench" / "rows.parquet")
    asked = []
    monkeypatch.setattr(worker, "warm_up", lambda *_: None)
    monkeypatch.setattr(methods.Engine, "decode",
                        lambda engine, name, *rest: asked.append(name) or real_decode(engine, name, *rest))
    summary = measure(settings)
    assert asked == ["eagle"] * 3
    assert summary["valid"]
    assert summary["failures"] == []
    after = read_rows(settings.run / "bench" / "rows.parquet")
    assert [row for row in after if row["method"] != "eagle"] == before
    assert {line["method"]: line["retried"] for line in summary["rows"]} == {"vanilla": 0, "eagle": 3, "specflash": 0}


def test_without_vanillas_answer_nobody_is_compared_until_there_is_one(tmp_path, monkeypatch):
    settings = make_experiment(tmp_path, prompts=1)
    monkeypatch.setattr(methods.Engine, "decode", breaking(VANILLA))
    summary = measure(settings)
    assert all("vanilla gave 0 of 1 planned answers" in " ".join(line["refused"]) for line in summary["rows"])
    monkeypatch.setattr(methods.Engine, "decode", real_decode)
    summary = measure(settings)
    assert summary["valid"]
    assert all(line["identical_share"] is not None for line in summary["rows"])


def test_the_command_writes_everything_then_exits_with_1(broken, tmp_path, monkeypatch, capsys):
    settings, _ = broken
    monkeypatch.setattr(methods.Engine, "decode", breaking("eagle"))
    monkeypatch.setattr("flashbench.bench.run.publish", lambda *_: [])
    save_settings(settings, tmp_path / "settings.yaml")
    with pytest.raises(SystemExit) as caught:
        main(["bench", "--config", str(tmp_path / "settings.yaml")])
    assert caught.value.code == 1
    assert "No speed-up of eagle, captions; eagle, all in domain: eagle gave 0 of 3" in capsys.readouterr().out
    assert not json.loads((settings.run / "summary.json").read_text())["valid"]


def test_an_answer_of_another_engine_state_is_refused(tmp_path, monkeypatch):
    """Another token than vanilla's, one that no rounding explains."""
    settings = make_experiment(tmp_path)

    def decode(engine, name, prompt, sampling):
        answer = real_decode(engine, name, prompt, sampling)
        if name == "specflash":
            answer.ids[2] = (answer.ids[2] + 150) % 300
        return answer

    monkeypatch.setattr(methods.Engine, "decode", decode)
    summary = measure(settings)
    line = next(line for line in summary["rows"] if line["method"] == "specflash")
    assert line["speedup_e2e"] is None
    assert "of specflash differ from vanilla's and no rounding explains it (first: token 2" in line["refused"][0]
