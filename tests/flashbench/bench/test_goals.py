"""Bars are held against the line they are about, and a missed one comes with where the time went."""

import pytest

from flashbench.bench.goals import goal_lines, show_goals
from flashbench.bench.rows import VANILLA
from flashbench.bench.summary import summarise
from flashbench.bench_settings import GoalSettings, TaskSettings
from tests.flashbench.experiment import make_experiment
from tests.flashbench.scripted import planned, scripted_rows

METHOD = "drafty"


@pytest.fixture(scope="module")
def rows():
    return summarise(planned(scripted_rows()), noise_band=0.1)["rows"]


@pytest.fixture
def judged(rows, tmp_path):
    """The goal lines of one task with these bars."""
    settings = make_experiment(tmp_path)

    def judge(task="instruct", method=METHOD, **bars):
        source = next(iter(settings.bench.tasks.values())).source
        tasks = {task: TaskSettings(source=source, goal=GoalSettings(method=method, **bars))}
        target = settings.target.model_copy(update={"name": rows[0]["target"]})
        return goal_lines([settings.model_copy(update={
            "target": target, "bench": settings.bench.model_copy(update={"tasks": tasks})})], rows)
    return judge


def line_of(rows, method):
    return next(row for row in rows if (row["task"], row["method"]) == ("instruct", method))


def test_a_bar_is_reached_from_its_own_value_on(judged, rows):
    mine = line_of(rows, METHOD)
    [exact] = judged(decode=mine["speedup_decode"], e2e=mine["speedup_e2e"] + 1e-9)
    assert exact["reached"] == {"decode": True, "e2e": False}
    assert exact["speedup_decode"] == mine["speedup_decode"]
    assert exact["accept_length"] == mine["accept_length"]


def test_only_bars_that_are_set_are_judged_and_only_where_the_method_ran(judged):
    [one] = judged(decode=1.0)
    assert set(one["reached"]) == {"decode"} and one["goal"] == {"decode": 1.0, "e2e": None}
    assert judged(method="nobody", decode=1.0) == []
    assert judged(task="other", decode=1.0) == []


def test_ceilings_follow_from_the_seconds(judged, rows):
    mine, vanilla = line_of(rows, METHOD), line_of(rows, VANILLA)
    [goal] = judged(decode=9, e2e=9)
    decoding = sum(vanilla["seconds"][phase] for phase in ("draft", "verify", "other"))
    per_token = decoding / (vanilla["tokens"] - vanilla["answers"])
    assert goal["ceilings"]["decode"] == pytest.approx(
        mine["accept_length"] * per_token / mine["seconds_per_round"]["verify"])
    assert goal["ceilings"]["decode"] >= mine["speedup_decode"]
    assert goal["ceilings"]["e2e"] == pytest.approx(
        sum(vanilla["seconds"].values()) / (mine["seconds"]["vision"] + mine["seconds"]["prefill"]))
    assert goal["ceilings"]["e2e"] >= mine["speedup_e2e"]


def test_a_missed_bar_is_shown_with_the_arithmetic_and_a_reached_one_without(judged, capsys):
    show_goals(judged(decode=0.01))
    said = capsys.readouterr().out
    assert "yes" in said and "took" not in said
    show_goals(judged(decode=99, e2e=98))
    said = capsys.readouterr().out
    for expected in ("99.00", "98.00", " no", "drafty took", "vanilla", "R decode would be", "R e2e would be"):
        assert expected in said
    show_goals([])
    assert capsys.readouterr().out == ""


def test_a_refused_speed_up_reaches_nothing(judged, rows, capsys, monkeypatch):
    monkeypatch.setitem(line_of(rows, METHOD), "speedup_decode", None)
    monkeypatch.setitem(line_of(rows, METHOD), "speedup_e2e", None)
    [goal] = judged(decode=0.01)
    assert goal["reached"] == {"decode": False}
    show_goals([goal])
    assert "no speed-up may be said" in capsys.readouterr().out
