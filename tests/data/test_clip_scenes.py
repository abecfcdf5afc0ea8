"""Drawn clips: what is said to move moves, that way, and nothing else does."""

from collections import Counter

import numpy as np
import pytest

from specflash.data.clip_scenes import CLASS, FRAMES, LANES, MOTIONS, WAYS, draw_clip

CLIPS = [draw_clip(seed) for seed in range(400)]


def test_every_motion_and_every_kind_that_moves_occurs_and_nothing_hides_anything():
    things = Counter((thing.motion, thing.kind) for clip in CLIPS for thing in clip.things)
    assert {motion for motion, _ in things} == set(MOTIONS)
    assert {kind for motion, kind in things if motion != "still"} == set(WAYS)
    for clip in CLIPS:
        lanes = [lane for thing in clip.things for lane in {thing.row, *LANES.get(thing.motion, ())}]
        assert len(lanes) == len(set(lanes))
        assert 1 <= len(clip.things) <= 3
        assert clip.things[0].motion != "still"
        assert clip.label == f"{clip.things[0].kind} {CLASS[clip.things[0].motion]}"


def test_equal_seeds_give_equal_clips():
    assert draw_clip(3) == CLIPS[3] != CLIPS[4]


def box(thing, time):
    points = [point for shape in thing.shapes(time) if not shape.tone.startswith("fx") for point in shape.points]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


@pytest.mark.parametrize("motion", MOTIONS)
def test_each_motion_is_what_it_is_called(motion):
    thing = next(thing for clip in CLIPS for thing in clip.things if thing.motion == motion)
    (left, top, _, bottom), (to_left, to_top, _, to_bottom) = box(thing, 0), box(thing, 1)
    across, along, growth = to_left - left, to_bottom - bottom, (to_bottom - to_top) / (bottom - top)
    seen = {"left": across < -100, "right": across > 100, "up": along < -40, "down": along > 40, "closer": growth > 2,
            "away": growth < 0.5, "still": (across, along) == (0, 0)}
    if motion == "bouncing":
        heights = [bottom - box(thing, number / (FRAMES - 1))[3] for number in (0, 2, 5, 7)]  # what four frames show
        assert heights[1] > 50 < heights[2]
        assert abs(heights[0]) < 1 > abs(heights[3])
    else:
        assert seen[motion]


def test_things_stay_inside_the_picture():
    for clip in CLIPS:
        for thing in clip.things:
            for time in (0, 1):
                left, top, right, bottom = box(thing, time)
                assert -30 < left < right < 366
                assert -5 < top < bottom < 345


def test_only_what_moves_changes_between_frames():
    clip = next(clip for clip in CLIPS if len(clip.things) == 2 and clip.things[1].motion == "still"
                and clip.things[0].motion == "right" and clip.things[0].row == "front")
    frames = list(clip.frames())
    assert len(frames) == FRAMES
    changed = np.flatnonzero((frames[0] != frames[-1]).any((1, 2)))
    assert frames[0].shape == (336, 336, 3)
    assert changed.min() > 200  # rows of the front lane
