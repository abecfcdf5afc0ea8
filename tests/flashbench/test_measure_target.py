"""Measuring a target goes on where it was ended, and finds the same."""

from flashbench import measure_target
from flashbench.journal import Journal
from flashbench.measure_target import BATCH, measure
from tests.tiny import tiny_target

LIMIT = 4


def test_what_is_finished_is_not_done_again(tmp_path, monkeypatch):
    target, looked = tiny_target(tmp_path / "target"), []
    whole = measure(target, BATCH + 2, Journal(tmp_path / "whole.jsonl"), LIMIT)
    measure(target, BATCH, Journal(tmp_path / "cut.jsonl"), LIMIT)
    look = measure_target._looked_at
    monkeypatch.setattr(measure_target, "_looked_at", lambda *given: looked.append(given[2]) or look(*given))
    assert measure(target, BATCH + 2, Journal(tmp_path / "cut.jsonl"), LIMIT) == whole
    assert looked == [BATCH]
    measure(target, BATCH, Journal(tmp_path / "cut.jsonl"), LIMIT + 1)  # another question: nothing of it is there
    assert looked == [BATCH, 0]
