"""Answer files of others: every line is written, repeated or set aside, and `compare` reads what is written."""

import json

import pytest

from flashbench.bring_in.answers import import_answers
from flashbench.compare.places import read_result
from flashbench.compare.results import Series
from flashbench.dump.quarantine import read_quarantine
from specflash.errors import UserError
from tests.flashbench.compare.results import jsonl, spans

EAGLE = {"question_id": 81, "model_id": "ea", "tstamp": 1.5, "choices": [
    {"index": 0, "turns": ["x", "y"], "idxs": [3, 4], "new_tokens": [10, 20], "wall_time": [1.0, 2.0]}]}
FLASHSD = {"question_id": 7, "response": "a cat", "idx": 9, "new_tokens": 30, "wall_time": 2.0}


def test_both_layouts_come_out_as_eagles(tmp_path):
    account = import_answers(tmp_path / "in", [jsonl(tmp_path / "ea.jsonl", EAGLE),
                                               jsonl(tmp_path / "flashsd.jsonl", FLASHSD)])
    assert (account.total, account.written) == (2, 2)
    assert json.loads((tmp_path / "in/ea.jsonl").read_text()) == EAGLE
    assert json.loads((tmp_path / "in/flashsd.jsonl").read_text()) == {
        "question_id": 7, "model_id": "flashsd", "choices": [
            {"index": 0, "turns": ["a cat"], "idxs": [9], "new_tokens": [30], "wall_time": [2.0]}]}


def test_compare_reads_the_same_from_what_is_written(tmp_path):
    for name, line in (("ea", EAGLE), ("flashsd", FLASHSD)):
        file = jsonl(tmp_path / f"{name}.jsonl", line)
        import_answers(tmp_path / "in", [file])
        before, after = read_result(file), read_result(tmp_path / f"in/{name}.jsonl")
        assert spans(after) == spans(before)
        assert list(after.series) == list(before.series) == [Series(name)]


def test_bad_lines_are_set_aside_and_repeated_ones_counted(tmp_path):
    file = jsonl(tmp_path / "ea.jsonl", EAGLE, {**EAGLE, "question_id": 82}, EAGLE)
    with file.open("a") as lines:
        lines.write('{"question_id": 83}\n\n{torn\n')
    account = import_answers(tmp_path / "in", [file])
    assert (account.total, account.written, account.duplicates, account.quarantined) == (5, 2, 1, 2)
    reasons = [entry.reason for entry in read_quarantine(tmp_path / "in")]
    assert [reason.partition(": ")[0] for reason in reasons] == [f"{file}, line 4", f"{file}, line 6"]
    assert "no `wall_time`" in reasons[0]
    assert len(read_result(tmp_path / "in/ea.jsonl").series[Series("ea")]) == 2


def test_a_file_without_an_answer_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"no line of .* is an answer of EAGLE or FlashSD .*line 1"):
        import_answers(tmp_path / "in", [jsonl(tmp_path / "a.jsonl", {"question_id": 1})])


def test_two_files_never_go_to_one_place(tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(UserError, match="same name"):
        import_answers(tmp_path / "in", [jsonl(tmp_path / "a.jsonl", EAGLE), jsonl(tmp_path / "b/a.jsonl", EAGLE)])
