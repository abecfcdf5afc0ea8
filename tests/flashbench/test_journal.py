"""The journal keeps what was finished, and nothing half."""

import json

from flashbench.journal import Journal


def test_finished_work_is_found_again(tmp_path):
    Journal(tmp_path / "rows.jsonl").add({"key": "a", "fingerprint": "1", "value": 3})
    assert Journal(tmp_path / "rows.jsonl").find("a", "1")["value"] == 3


def test_work_done_under_other_conditions_is_not_found(tmp_path):
    journal = Journal(tmp_path / "rows.jsonl")
    journal.add({"key": "a", "fingerprint": "1"})
    assert journal.find("a", "2") is None


def test_a_torn_last_line_is_cut_off_and_the_next_one_is_whole(tmp_path):
    path = tmp_path / "rows.jsonl"
    Journal(path).add({"key": "a", "fingerprint": "1"})
    with path.open("a") as file:
        file.write('{"key": "b", "finger')
    reopened = Journal(path)
    assert reopened.find("a", "1") is not None
    assert reopened.find("b", "1") is None
    reopened.add({"key": "b", "fingerprint": "1"})
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "b"]

