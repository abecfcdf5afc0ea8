"""The journal keeps what was finished, and nothing half."""

import json

import pytest

from flashbench.journal import Journal
from specflash.files import DiskFull


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


@pytest.mark.parametrize("line", [b"{broken", b"\0\0\0", b"\xff\xfe", b"[]", b"{}", b'{"key": 3, "fingerprint": "1"}'])
def test_a_damaged_line_costs_its_own_work_and_is_told(tmp_path, line, capfd):
    path = tmp_path / "rows.jsonl"
    for key in "abc":
        Journal(path).add({"key": key, "fingerprint": "1"})
    first, _, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + line + b"\n" + third)
    journal = Journal(path)
    assert [journal.find(key, "1") is not None for key in "abc"] == [True, False, True]
    assert "1 of 3 lines are damaged and left out" in capfd.readouterr().err
    journal.add({"key": "b", "fingerprint": "1"})
    assert Journal(path).find("b", "1") is not None


def test_a_full_disk_is_one_line_and_keeps_what_was_finished(tmp_path):
    path = tmp_path / "rows.jsonl"
    journal = Journal(path)
    journal.add({"key": "a", "fingerprint": "1"})
    kept = path.rename(tmp_path / "kept")
    path.symlink_to("/dev/full")
    with pytest.raises(DiskFull, match="no space left"):
        journal.add({"key": "b", "fingerprint": "1"})
    assert journal.find("b", "1") is None
    assert Journal(kept).find("a", "1") is not None
