"""The quarantine list: the last word on each source, and the error budget."""

from pathlib import Path

import pytest

from flashbench.dump.quarantine import Quarantined, check_budget, read_quarantine, write_quarantine
from specflash.errors import UserError


def bad(index: int, source: str = "coco:train", reason: str = "truncated") -> Quarantined:
    return Quarantined(source, index, None, reason)


def test_a_run_replaces_its_own_source_and_no_other(tmp_path):
    write_quarantine(tmp_path, "coco:train", [bad(3), bad(1)])
    write_quarantine(tmp_path, "kinetics:train", [bad(0, "kinetics:train")])
    write_quarantine(tmp_path, "coco:train", [bad(1, reason="missing")])
    assert read_quarantine(tmp_path) == [bad(0, "kinetics:train"), bad(1, reason="missing")]


def test_a_repaired_source_leaves_the_list(tmp_path):
    write_quarantine(tmp_path, "coco:train", [bad(3)])
    write_quarantine(tmp_path, "coco:train", [])
    assert read_quarantine(tmp_path) == []


@pytest.mark.parametrize(("count", "within"), [(0, True), (5, True), (6, False)])
def test_the_budget_is_a_share_of_the_source(count, within):
    found = [bad(index, reason=f"reason {index}") for index in range(count)]
    if within:
        check_budget(found, 100, 0.05, Path("store"))
        return
    with pytest.raises(UserError, match=r"6 of 100 .*sample 0: reason 0; .*sample 2: reason 2\).*good ones are kept"):
        check_budget(found, 100, 0.05, Path("store"))


def test_a_budget_of_nothing_allows_nothing():
    with pytest.raises(UserError, match="1 of 1000"):
        check_budget([bad(0)], 1000, 0.0, Path("store"))


@pytest.mark.parametrize("line", [b"{broken", b"[]", b"{}", b"\xff", b"\0"])
def test_a_damaged_line_is_left_out_and_told(tmp_path, line, capfd):
    write_quarantine(tmp_path, "coco:train", [bad(3)])
    with (tmp_path / "quarantine.jsonl").open("ab") as file:
        file.write(line + b"\n")
    assert read_quarantine(tmp_path) == [bad(3)]
    assert "damaged lines are left out" in capfd.readouterr().err
