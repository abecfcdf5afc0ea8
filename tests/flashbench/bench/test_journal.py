"""The journal keeps what was finished, and nothing half."""

import json

import pytest
from flashbench.bench.journal import Journal, write_whole


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


def test_a_file_is_replaced_only_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_whole(path, b"old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
