"""Captions of clips: true, rich, and complete as their own grading sees them."""

from random import Random

from specflash.data.clip_grading import clip_f1, grade_clip
from specflash.data.clip_language import clip_caption
from specflash.data.clip_scenes import draw_clip

CAPTIONS = [(draw_clip(seed), clip_caption(draw_clip(seed), Random(seed))) for seed in range(400)]


def test_every_caption_names_each_object_colour_and_motion_and_nothing_that_is_not_there():
    scores = clip_f1(grade_clip(caption, clip) for clip, caption in CAPTIONS)
    assert (scores.objects, scores.colours, scores.motions) == (1.0, 1.0, 1.0)


def test_wordings_are_many():
    assert len({caption for _, caption in CAPTIONS}) == len(CAPTIONS)
    clip = draw_clip(0)
    assert len({clip_caption(clip, Random(seed)) for seed in range(100)}) > 95


def test_captions_are_well_formed_english():
    for _, caption in CAPTIONS:
        assert caption[0].isupper()
        assert caption.endswith(".")
        assert "  " not in caption
        assert " a orange" not in caption
        assert 7 <= len(caption.split()) <= 80
