"""Drawn scenes follow from their seed, and their truth is what is in the picture."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from specflash.data.scene_paint import paint_shapes
from specflash.data.scene_places import SIDE
from specflash.data.scenes import COLOUR_NAMES, KINDS, PLACES, WEATHERS, beside, draw_scene, relation

SCENES = [draw_scene(seed) for seed in range(120)]


def test_equal_seeds_give_equal_pictures():
    draw_scene(8).picture()
    assert draw_scene(7) == SCENES[7]
    assert draw_scene(7).picture().tobytes() == SCENES[7].picture().tobytes()


def test_other_seeds_give_other_pictures():
    assert len({SCENES[seed].picture().tobytes() for seed in range(12)}) == 12


def test_a_picture_is_336_pixels_of_rgb():
    picture = SCENES[0].picture()
    assert (picture.size, picture.mode) == ((336, 336), "RGB")


def test_every_kind_colour_place_and_weather_occurs():
    scenes = SCENES + [draw_scene(seed) for seed in range(200, 500)]
    assert {thing.kind for scene in scenes for thing in scene.things} == set(KINDS)
    assert {thing.colour for scene in scenes for thing in scene.things} == set(COLOUR_NAMES)
    assert {(scene.place, scene.weather) for scene in scenes} == {
        (place, weather) for place in PLACES for weather in WEATHERS[place]}
    assert {len(scene.things) for scene in scenes} == {2, 3, 4, 5}


@pytest.mark.parametrize("scene", SCENES[:40], ids=lambda scene: str(scene.seed))
def test_things_are_seen_almost_whole_and_inside_their_boxes(scene):
    mask = scene.thing_mask()
    for number, thing in enumerate(scene.things, 1):
        alone = Image.new("L", (SIDE, SIDE))
        paint_shapes(ImageDraw.Draw(alone), 1, thing.shapes(), thing.tint, 1)
        seen = mask == number
        assert seen.sum() >= 0.9 * np.asarray(alone).sum()
        rows, columns = np.nonzero(seen)
        left, top, right, bottom = thing.box
        slack = 8  # strokes are wider than their lines
        assert left - slack <= columns.min() <= columns.max() <= right + slack
        assert top - slack <= rows.min() <= rows.max() <= bottom + slack
        assert max(right - left, bottom - top) >= 40


def test_large_things_are_larger_than_small_ones_of_their_kind_and_state():
    heights: dict = {}
    for scene in SCENES:
        for thing in scene.things:
            height = thing.box[3] - thing.box[1]
            heights.setdefault((thing.kind, thing.action), {}).setdefault(thing.size, []).append(height)
    both = [sizes for sizes in heights.values() if len(sizes) == 2]
    assert len(both) > 10
    assert all(max(sizes["small"]) < min(sizes["large"]) for sizes in both)


def test_colours_in_the_picture_are_those_of_the_truth():
    for scene in SCENES[:15]:
        pixels, mask = np.asarray(scene.picture(), int), scene.thing_mask()
        for number, thing in enumerate(scene.things, 1):
            near = np.abs(pixels[mask == number] - np.array(thing.tint)).max(1) <= 12
            assert near.mean() > 0.12, (scene.seed, thing)


def test_relations_agree_with_the_boxes():
    checked = 0
    for scene in SCENES:
        for first, name, second in scene.relations():
            (x, y), (u, v) = first.centre, second.centre
            assert {"left of": x < u - 40, "right of": x > u + 40, "above": y < v - 40, "below": y > v + 40}[name]
            assert relation(second, first) == {"left of": "right of", "right of": "left of",
                                               "above": "below", "below": "above"}[name]
            checked += 1
    assert checked > 100


def test_neighbours_of_one_row_are_beside_each_other():
    assert all(beside(one, other) == (one.row == other.row and abs(one.column - other.column) == 1)
               for scene in SCENES for one in scene.things for other in scene.things)


def test_things_come_in_reading_order():
    for scene in SCENES:
        keys = [(group[0].size == "small", group[0].column) for group in scene.groups]
        assert keys == sorted(keys)


def test_alike_things_form_one_group():
    for scene in SCENES:
        names = [(group[0].kind, group[0].colour) for group in scene.groups]
        assert len(names) == len(set(names))
        for group in scene.groups:
            assert len({(thing.size, thing.action, thing.row) for thing in group}) == 1


def test_moving_things_show_their_motion_inside_the_picture():
    moving = [thing for scene in SCENES for thing in scene.things if thing.action in ("driving", "running")]
    effects = [shape for thing in moving for shape in thing.shapes() if shape.tone == "fx"]
    assert effects
    assert all(0 <= x <= SIDE for shape in effects for x, _ in shape.points)
