"""Comparisons and trainings as entries: names, order, limits. Nothing here needs MLflow."""

import json

import pytest

from flashbench.track.comparison import HEADLINES, comparison_entries
from flashbench.track.entry import LONGEST_PARAM, LONGEST_TAG, MOST_PARAMS, Entry, as_params
from flashbench.track.note import MOST_LINES, leaderboard_note
from tests.flashbench.conftest import settings_for
from tests.flashbench.scripted import scripted_rows, scripted_summary


@pytest.fixture
def summary():
    return scripted_summary(scripted_rows())


def names(tmp_path, summary) -> list[str]:
    return [entry.name for entry in comparison_entries(settings_for(tmp_path), summary, None, None)]


def test_a_child_is_named_by_its_task_and_method_and_by_what_else_there_are_several_of(tmp_path, summary):
    assert names(tmp_path, summary) == ["compare · scripted", "instruct · vanilla", "instruct · drafty"]
    vanilla, drafty = summary["rows"]
    warm = [{**line, "temperature": 1.0} for line in (vanilla, drafty)]
    assert names(tmp_path, summary | {"rows": [vanilla, *warm]})[1:] == [
        "instruct · vanilla · T=0", "instruct · vanilla · T=1", "instruct · drafty · T=1"]
    other = {**drafty, "target": "huge"}
    assert names(tmp_path, summary | {"rows": [drafty, other]})[1:] == [
        "instruct · drafty · tiny", "instruct · drafty · huge"]


def test_the_temperature_is_the_lines_own(tmp_path, summary):
    summary["rows"][1]["temperature"] = 0.2
    _, vanilla, drafty = comparison_entries(settings_for(tmp_path), summary, None, None)
    assert [one.params["temperature"] for one in (vanilla, drafty)] == ["0.0", "0.2"]
    assert vanilla.key != drafty.key


def test_the_newest_run_is_the_parent_and_then_the_first_line(tmp_path, summary):
    entries = comparison_entries(settings_for(tmp_path), summary, None, None)
    assert sorted(entries, key=lambda entry: -entry.at) == entries


def test_headlines_come_first_in_the_order_of_their_names(tmp_path, summary):
    drafty = comparison_entries(settings_for(tmp_path), summary, None, None)[2]
    in_order = sorted(name for name, _, _ in drafty.points)
    assert set(in_order[:len(HEADLINES)]) == set(HEADLINES)
    assert all("/" in name for name in in_order[len(HEADLINES):])


def test_the_settings_of_a_draft_are_its_childs_parameters(tmp_path, summary):
    summary["rows"][1]["method"] = "eagle"
    assert comparison_entries(settings_for(tmp_path), summary, None, None)[2].params["draft.k"] == "3"


def test_the_note_is_the_leaderboard_in_words_of_the_summary(summary):
    note = leaderboard_note(summary)
    assert note.startswith("**tiny** · bfloat16 · measured on CPU (abacus, 2 cores)")
    assert "| instruct | drafty | 2.40 | 2.40 [0.18, 31.55] | 2.00 [0.32, 12.44] | 50 % | 2 |" in note
    assert "not for quoting" not in note
    assert "not for quoting" in leaderboard_note(summary | {"quotable": False})


def test_a_machine_with_gpus_is_named_by_them(tmp_path, summary):
    summary["fingerprint"]["machine"]["gpus"] = ["NVIDIA H200", "NVIDIA H200"]
    assert "(NVIDIA H200, NVIDIA H200, 2 cores)" in leaderboard_note(summary)
    parent, *_ = comparison_entries(settings_for(tmp_path), summary, None, None)
    assert parent.tags["hardware"] == "NVIDIA H200, NVIDIA H200"


def test_a_long_leaderboard_is_cut_and_says_so(summary):
    note = leaderboard_note(summary | {"rows": summary["rows"] * 50})
    assert note.count("\n| ") == 1 + MOST_LINES
    assert f"{2 * 50 + 2 - MOST_LINES} more lines are in `leaderboard.json`" in note
    assert len(note) < LONGEST_TAG


def test_parameters_stay_within_the_limits():
    params = as_params({"long": "x" * 10_000, **{f"p{number}": number for number in range(300)}})
    assert len(params) == MOST_PARAMS
    assert params["params_left_out"] == str(301 - (MOST_PARAMS - 1))
    assert len(params["long"]) == LONGEST_PARAM
    assert as_params({"a": None, "b": 1.5}) == {"a": "None", "b": "1.5"}


def test_an_entry_survives_a_file(tmp_path, summary):
    for entry in comparison_entries(settings_for(tmp_path), summary, None, None):
        assert Entry.from_json(entry.to_json()).to_json() == entry.to_json()
        assert json.loads(entry.to_json())["key"] == entry.key
