"""Drawn scenes with exact truth: what is in the picture is known because we put it there.

It knows no language: `language.py` puts a scene into words.

A scene is a 3 × 3 grid of cells, rows "sky", "back" and "front"; every thing has its own cell,
so things do not hide each other. Everything follows from the seed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from random import Random
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from specflash.data.scene_art import ART
from specflash.data.scene_paint import COLOURS, paint_shapes, shape_box
from specflash.data.scene_places import SIDE, paint_place
from specflash.data.scene_rules import (
    ACTIONS,
    BASELINE,
    COLOUR_NAMES,
    HIDDEN,
    INHABITANTS,
    KINDS,
    LIMITS,
    PLACES,
    ROWS,
    SKY_SHARE,
    TREE_COLOURS,
    WEATHERS,
)
from specflash.data.scene_shapes import Shape

__all__ = ["ACTIONS", "COLOUR_NAMES", "KINDS", "PLACES", "SIDE", "WEATHERS", "Scene", "Thing",
           "beside", "draw_scene", "relation"]

@dataclass(frozen=True)
class Thing:
    """One thing of a scene. `box` is (left, top, right, bottom) in pixels.

    row ("sky", "back", "front") and column (0, 1, 2) name its cell; `action` is None where the
    kind does nothing that could be seen.
    """

    kind: str
    colour: str
    size: str
    action: str | None
    row: str
    column: int
    box: tuple[int, int, int, int]
    foot: tuple[float, float]
    scale: float
    mirrored: bool
    tint: tuple[int, int, int]

    @property
    def centre(self) -> tuple[float, float]:
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2

    def shapes(self) -> list[Shape]:
        """Its shapes in pixels."""
        return placed(ART[self.kind](self.action), self.foot, self.scale, self.mirrored)


def placed(shapes: list[Shape], foot: tuple[float, float], scale: float, mirrored: bool) -> list[Shape]:
    side = -scale if mirrored else scale
    return [shape._replace(points=tuple((foot[0] + side * x, foot[1] + scale * y) for x, y in shape.points),
                           width=shape.width * scale) for shape in shapes]


def relation(first: Thing, second: Thing) -> str | None:
    """Where `first` is as seen from `second`, or None where neither axis is clear.

    "left of", "right of" for things of one row, "above", "below" for things of one column.
    """
    if first.row == second.row and first.column != second.column:
        return "left of" if first.column < second.column else "right of"
    if first.column == second.column and first.row != second.row:
        return "above" if ROWS.index(first.row) < ROWS.index(second.row) else "below"
    return None


def beside(first: Thing, second: Thing) -> bool:
    """True for neighbours in one row."""
    return first.row == second.row and abs(first.column - second.column) == 1


@dataclass(frozen=True)
class Scene:
    """A place, its weather (or time of day) and 2 to 5 things in reading order:
    large before small, then left to right, then far to near; equal things stay together."""

    seed: int
    place: str
    weather: str
    things: tuple[Thing, ...]

    @cached_property
    def groups(self) -> tuple[tuple[Thing, ...], ...]:
        """Things that share kind and colour, together (such things are alike in size, action and row)."""
        return tuple(tuple(group) for _, group in
                     groupby(self.things, key=lambda thing: (thing.kind, thing.colour)))

    def relations(self) -> Iterator[tuple[Thing, str, Thing]]:
        """Every pair that has one, from the earlier thing's side."""
        for index, first in enumerate(self.things):
            for second in self.things[index + 1:]:
                if name := relation(first, second):
                    yield first, name, second

    def picture(self) -> Image.Image:
        """336 × 336 RGB."""
        zoom = 2
        large = Image.new("RGB", (SIDE * zoom, SIDE * zoom))
        draw = ImageDraw.Draw(large)
        paint_place(draw, zoom, self.place, self.weather, Random(f"place {self.seed}"))
        for thing in sorted(self.things, key=lambda thing: ROWS.index(thing.row)):
            paint_shapes(draw, zoom, thing.shapes(), thing.tint)
        pixels = np.asarray(large.reduce(zoom), np.int16)
        grain = np.random.default_rng(self.seed).integers(-5, 6, (SIDE, SIDE, 1), np.int16)
        return Image.fromarray((pixels + grain).clip(0, 255).astype(np.uint8))

    def thing_mask(self) -> np.ndarray:
        """[336, 336] uint8: 0 background, i + 1 where `things[i]` is seen."""
        return paint_mask(self.things, Thing.shapes)


def paint_mask(things: Sequence[Any], shapes: Callable[[Any], list[Shape]]) -> np.ndarray:
    """[336, 336] uint8: 0 background, i + 1 where `things[i]` is seen with these shapes; nearer rows on top."""
    mask = Image.new("L", (SIDE, SIDE))
    draw = ImageDraw.Draw(mask)
    for index, thing in sorted(enumerate(things), key=lambda pair: ROWS.index(pair[1].row)):
        paint_shapes(draw, 1, shapes(thing), thing.tint, index + 1)
    return np.asarray(mask)


def draw_scene(seed: int) -> Scene:
    """The scene of this seed; equal seeds give equal scenes, whatever was drawn before."""
    rng = Random(f"scene {seed}")
    place = rng.choice(PLACES)
    weather = rng.choice(WEATHERS[place])
    wanted = rng.choices((2, 3, 4, 5), (20, 35, 30, 15))[0]
    free = {(row, column) for row in INHABITANTS[place] for column in range(3)}
    taken: set[tuple[str, str]] = set()
    groups: list[list[Thing]] = []
    while (left := wanted - sum(map(len, groups))) > 0:
        cells = sorted(free)
        row, column = rng.choices(cells, [SKY_SHARE if cell[0] == "sky" else 1 for cell in cells])[0]
        kind = rng.choice(INHABITANTS[place][row])
        colour = rng.choice(TREE_COLOURS if kind == "tree" else COLOUR_NAMES)
        if (kind, colour) in taken or colour in HIDDEN.get(place, ()):
            continue
        taken.add((kind, colour))
        others = sorted(cell for cell in free if cell[0] == row and cell[1] != column)
        extra = rng.choice((1, 1, 2)) if rng.random() < 0.25 else 0
        cells = [(row, column), *rng.sample(others, min(extra, left - 1, len(others)))]
        free.difference_update(cells)
        groups.append(_group(rng, place, kind, colour, sorted(cells)))
    groups.sort(key=lambda group: (group[0].size == "small", group[0].column, ROWS.index(group[0].row)))
    return Scene(seed, place, weather, tuple(thing for group in groups for thing in group))


def _action(rng: Random, place: str, kind: str, row: str) -> str | None:
    if kind == "bird":
        return "flying" if row == "sky" else "standing"
    if kind == "fish":
        return "jumping" if place == "beach" else "swimming"
    if kind in ("kite", "boat"):
        return {"kite": "flying", "boat": "sailing" if row == "back" else None}[kind]
    return rng.choice(ACTIONS.get(kind, (None,)))


def _group(rng: Random, place: str, kind: str, colour: str, cells: list[tuple[str, int]]) -> list[Thing]:
    size = rng.choice(("small", "large"))
    action = _action(rng, place, kind, cells[0][0])
    tint = tuple(min(255, max(0, part + rng.randint(-9, 9))) for part in COLOURS[colour])
    things = []
    for row, column in cells:
        scale = rng.uniform(*LIMITS[size]) / 100
        x = 56 + 112 * column + rng.uniform(-5, 5) * (2 if size == "small" else 1)
        y = 58 + 50 * scale + rng.uniform(-6, 4) if row == "sky" else BASELINE[row] + rng.uniform(-5, 5)
        mirrored = rng.random() < 0.5
        if action in ("driving", "running") and column != 1:
            mirrored = column == 0  # heading outwards, so that the motion lines lie inside the picture
        shapes = placed(ART[kind](action), (x, y), scale, mirrored)
        things.append(Thing(kind, colour, size, action, row, column, shape_box(shapes, SIDE), (x, y), scale,
                            mirrored, tint))
    return things
