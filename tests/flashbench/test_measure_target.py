"""Measuring a target goes on where it was ended, and finds the same."""

from random import Random

from flashbench import measure_target
from flashbench.journal import Journal
from flashbench.measure_target import BATCH, CLIPS, PICTURES, measure
from specflash.data.clip_language import clip_caption
from specflash.data.language import detail
from specflash.data.video import load_clip
from tests.tiny import tiny_target

LIMIT = 4


def test_what_is_finished_is_not_done_again(tmp_path, monkeypatch):
    target, looked = tiny_target(tmp_path / "target"), []
    whole = measure(target, PICTURES, BATCH + 2, Journal(tmp_path / "whole.jsonl"), LIMIT)
    measure(target, PICTURES, BATCH, Journal(tmp_path / "cut.jsonl"), LIMIT)
    look = measure_target._looked_at
    monkeypatch.setattr(measure_target, "_looked_at", lambda *given: looked.append(given[2]) or look(*given))
    assert measure(target, PICTURES, BATCH + 2, Journal(tmp_path / "cut.jsonl"), LIMIT) == whole
    assert looked == [BATCH]
    measure(target, PICTURES, BATCH, Journal(tmp_path / "cut.jsonl"), LIMIT + 1)  # asked otherwise: nothing is there
    assert looked == [BATCH, 0]


def test_what_is_held_out_is_asked_about_and_true_captions_score_1():
    for exam, tell in ((PICTURES, lambda scene: detail(scene, Random(0))[1]),
                       (CLIPS, lambda clip: clip_caption(clip, Random(0)))):
        drawn = exam.held_out(3)
        scores = exam.score([tell(each) for each in drawn], drawn)
        assert scores["objects"] == scores["colours"] == 1
        assert [sample.turns[0].question for sample in map(exam.ask, drawn)] == [exam.question] * 3
    assert scores["motions"] == 1


def test_a_clip_is_shown_as_four_frames():
    [medium] = CLIPS.ask(CLIPS.held_out(1)[0]).media
    assert len(load_clip(medium)) == 4
