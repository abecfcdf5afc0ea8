"""Labels and windows of a tower's training agree with the scene or clip they are of."""

from random import Random

import numpy as np
import pytest
import torch

from specflash.data.clip_scenes import MOTIONS, draw_clip
from specflash.data.scenes import COLOUR_NAMES, KINDS, PLACES, draw_scene
from specflash.smol.bodies import looks_of
from specflash.smol.looks import (
    ACTION_NAMES,
    ASPECTS,
    MOMENTS,
    UNTOLD,
    all_cells,
    choose_cells,
    label,
    look_at,
    look_at_slices,
    windows,
)

SCENES = [draw_scene(seed) for seed in range(4)]
CLIPS = [draw_clip(seed) for seed in range(4)]
SIDES = pytest.mark.parametrize("side", [24, 18])


def named(labels, aspect, row):
    """What the cells of a picture are labelled with."""
    return {ASPECTS[aspect][number - 1] for number in labels.aspects[aspect][row].unique().tolist() if number > 0}


@SIDES
def test_labels_name_what_the_scene_holds(side):
    labels = label([look_at(scene) for scene in SCENES], side)
    for row, scene in enumerate(SCENES):
        assert named(labels, "kind", row) == {thing.kind for thing in scene.things}
        assert named(labels, "action", row) == {thing.action for thing in scene.things if thing.action in ACTION_NAMES}
        assert PLACES[labels.place[row]] == scene.place


def test_labels_name_what_the_cells_show():
    for scene in SCENES:
        labels, mask = label([look_at(scene)], 24), scene.thing_mask()
        kinds, colours = (labels.aspects[name].reshape(24, 24) for name in ("kind", "colour"))
        row, column = np.argwhere(kinds.numpy())[0]
        cell = mask[row * 14:row * 14 + 14, column * 14:column * 14 + 14]
        thing = scene.things[np.bincount(cell[cell > 0]).argmax() - 1]
        assert kinds[row, column] == 1 + KINDS.index(thing.kind)
        assert colours[row, column] == 1 + COLOUR_NAMES.index(thing.colour)
        assert torch.equal(kinds == 0, colours == 0)


def test_a_coarser_grid_shows_the_same_things_at_the_same_places():
    look = look_at(SCENES[0])
    fine, coarse = look.shown(24), look.shown(18)
    for number in range(1, 1 + len(look.things)):
        middle = np.argwhere(fine == number).mean(0) / 24
        assert np.abs(np.argwhere(coarse == number).mean(0) / 18 - middle).max() < 0.03


def test_a_still_picture_tells_no_motion_and_a_clip_tells_it_of_every_slice():
    scene = label([look_at(SCENES[0])], 18)
    assert set(scene.aspects["motion"][scene.thing].tolist()) == {UNTOLD}
    for clip in CLIPS:
        labels = label(look_at_slices(clip, (0, 2, 5, 7), 2), 18)
        for row in range(2):
            assert named(labels, "motion", row) == {thing.motion for thing in clip.things} <= set(MOTIONS)
        assert set(labels.aspects["action"][labels.thing].tolist()) == {UNTOLD}


def test_a_slice_shows_a_thing_where_any_of_its_frames_does():
    clip = next(clip for clip in map(draw_clip, range(40)) if clip.things[0].motion == "right")
    first, second = (clip.thing_mask(number) == 1 for number in (0, 7))
    assert np.argwhere(first)[:, 1].mean() + 100 < np.argwhere(second)[:, 1].mean()
    [look] = look_at_slices(clip, (0, 7), 2)
    assert np.array_equal(look.mask == 1, first | second)
    moments = look.moments(18)
    assert np.argwhere(moments == 1)[:, 1].mean() + 5 < np.argwhere(moments == 2)[:, 1].mean()


def test_a_still_thing_is_seen_in_all_frames_and_of_a_picture_nobody_says_when():
    clip = next(clip for clip in map(draw_clip, range(40)) if clip.things[-1].motion == "still")
    [look] = look_at_slices(clip, (0, 7), 2)
    assert set(look.moments(18)[look.shown(18) == len(clip.things)].tolist()) == {1 + MOMENTS.index("both")}
    assert set(look_at(SCENES[0]).moments(18).ravel().tolist()) == {0, UNTOLD}


def test_looks_of_a_clip_are_those_of_the_frames_a_target_is_shown():
    slices = looks_of(CLIPS[0], 2)
    assert [len(looks_of(CLIPS[0], deep)) for deep in (1, 2)] == [4, 2]
    assert np.array_equal(slices[1].masks[0], CLIPS[0].thing_mask(5))
    assert np.array_equal(slices[1].masks[1], CLIPS[0].thing_mask(7))


@SIDES
def test_every_window_shows_a_thing_and_names_a_square_of_cells(side):
    looks = [look_at(scene) for scene in SCENES]
    owner, cells = windows(looks, side, 7, Random(1))
    assert owner.tolist() == [row for row, scene in enumerate(SCENES) for _ in scene.things]
    assert label(looks, side).of(owner, cells).thing.any(1).all()
    square = cells[0].reshape(7, 7)
    assert torch.equal(square[:, 1:] - square[:, :-1], torch.ones(7, 6, dtype=torch.int64))
    assert torch.equal(square[1:] - square[:-1], torch.full((6, 7), side))
    assert cells.min() >= 0 and cells.max() < side * side


def test_whole_pictures_have_every_cell_once():
    assert torch.equal(all_cells(2, 18), torch.arange(324).repeat(2, 1))


def test_cells_that_show_a_thing_are_kept_first():
    shown = torch.zeros(30, dtype=torch.bool)
    shown[[4, 20, 7]] = True
    kept = choose_cells(shown, 10, Random(0))
    assert len(kept) == 10 and {4, 7, 20} <= set(kept.tolist())
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert choose_cells(shown, 30, Random(1)).tolist() == list(range(30))
    assert choose_cells(shown, 10, Random(2)).tolist() != kept.tolist()


def test_labels_of_cells_are_those_cells_labels():
    labels = label([look_at(scene) for scene in SCENES], 18)
    part = labels.of(torch.tensor([2, 0]), torch.tensor([[5, 6], [300, 3]]))
    assert torch.equal(part.aspects["colour"][1], labels.aspects["colour"][0, [300, 3]])
    assert part.place.tolist() == [int(labels.place[2]), int(labels.place[0])]
    assert ASPECTS["colour"] == COLOUR_NAMES
