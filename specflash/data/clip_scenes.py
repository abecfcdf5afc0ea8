"""Drawn clips with exact truth: who moves, and how, is known because we moved it. It knows no language and no file.

A clip has one to three things, each in lanes of its own (the rows of `scenes.py`), so that nothing hides
anything; at least one of them moves. Everything follows from the seed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi, sin
from random import Random

import numpy as np
from PIL import Image, ImageDraw

from specflash.data.scene_art import ART
from specflash.data.scene_paint import COLOURS, paint_shapes
from specflash.data.scene_places import SIDE, paint_place
from specflash.data.scene_rules import (
    BASELINE,
    COLOUR_NAMES,
    HIDDEN,
    INHABITANTS,
    PLACES,
    ROWS,
    TREE_COLOURS,
    WEATHERS,
)
from specflash.data.scenes import paint_mask, placed

__all__ = ["FRAMES", "MOTIONS", "RATE", "ClipScene", "Mover", "draw_clip"]

CLASS = {"left": "moving left", "right": "moving right", "up": "rising", "down": "sinking", "bouncing": "bouncing",
         "closer": "coming closer", "away": "going away"}
FRAMES, RATE = 8, 2
"""Frames of a clip, and how many of them are a second: one a second gives four."""
MOTIONS = ("left", "right", "up", "down", "bouncing", "closer", "away", "still")
WAYS: dict[str, tuple[str, ...]] = {
    "dog": ("left", "right", "closer", "away"), "cat": ("left", "right"),
    "person": ("left", "right", "closer", "away"), "car": ("left", "right", "closer", "away"),
    "ball": ("left", "right", "bouncing"), "bird": ("left", "right", "up", "down"),
    "kite": ("left", "right", "up", "down"), "boat": ("left", "right")}
"""How the kinds that can move do so; all the others are still, and some of these are at times."""
RESTING = {"dog": "sitting", "cat": "sitting", "person": "standing", "car": "parked", "ball": "lying",
           "bird": "standing", "lamp": "shining", "book": "closed"}
POSES = {"dog": "running", "cat": "walking", "person": "running", "car": "driving", "ball": "lying",
         "bird": "flying", "kite": "flying", "boat": "sailing"}
LANES = {"up": ("sky", "back"), "down": ("sky", "back"), "closer": ("back", "front"), "away": ("back", "front")}
"""What a motion takes up besides the thing's own row."""
STILL_SHARE = 0.3
EDGE, LOW, FAR, NEAR = 56, 200, 196, 322
SCALES = {"small": 0.72, "large": 1.0}
HOP = 70


@dataclass(frozen=True)
class Mover:
    """One thing of a clip, from where and how large to where and how large. It faces left where it is mirrored."""

    kind: str
    colour: str
    size: str
    motion: str
    row: str
    feet: tuple[tuple[float, float], tuple[float, float]]
    scales: tuple[float, float]
    mirrored: bool
    tint: tuple[int, int, int]

    def shapes(self, time: float) -> list:
        """Its shapes in pixels at `time`, 0 to 1."""
        pose = RESTING.get(self.kind) if self.motion == "still" else POSES[self.kind]
        if self.kind == "car" and self.motion in LANES:
            pose = "parked"  # motion lines would say that it drives to a side
        (x, y), (to_x, to_y) = self.feet
        lift = HOP * abs(sin(2 * pi * time)) if self.motion == "bouncing" else 0
        scale = self.scales[0] + (self.scales[1] - self.scales[0]) * time
        return placed(ART[self.kind](pose), (x + (to_x - x) * time, y + (to_y - y) * time - lift), scale, self.mirrored)


@dataclass(frozen=True)
class ClipScene:
    """A place, its weather, and its things: what moves comes first."""

    seed: int
    place: str
    weather: str
    things: tuple[Mover, ...]

    @property
    def label(self) -> str:
        """The class of the clip, as Kinetics has one: what its first thing does."""
        return f"{self.things[0].kind} {CLASS[self.things[0].motion]}"

    def frames(self) -> Iterator[np.ndarray]:
        """FRAMES pictures [336, 336, 3] uint8."""
        zoom = 2
        empty = Image.new("RGB", (SIDE * zoom, SIDE * zoom))
        paint_place(ImageDraw.Draw(empty), zoom, self.place, self.weather, Random(f"place of clip {self.seed}"))
        for number in range(FRAMES):
            large = empty.copy()
            for thing in sorted(self.things, key=lambda thing: ROWS.index(thing.row)):
                paint_shapes(ImageDraw.Draw(large), zoom, thing.shapes(number / (FRAMES - 1)), thing.tint)
            yield np.asarray(large.reduce(zoom))

    def thing_mask(self, frame: int) -> np.ndarray:
        """[336, 336] uint8 of one frame: 0 background, i + 1 where `things[i]` is seen."""
        return paint_mask(self.things, lambda thing: thing.shapes(frame / (FRAMES - 1)))


def draw_clip(seed: int) -> ClipScene:
    """The clip of this seed; equal seeds give equal clips, whatever was drawn before."""
    rng = Random(f"clip {seed}")
    while True:
        place = rng.choice(PLACES)
        weather = rng.choice(WEATHERS[place])
        things = _things(rng, place, rng.choices((1, 2, 3), (35, 45, 20))[0])
        if things and things[0].motion != "still":
            return ClipScene(seed, place, weather, things)


def _things(rng: Random, place: str, wanted: int) -> tuple[Mover, ...]:
    free, found = set(INHABITANTS[place]), []
    for row in rng.sample(sorted(free), len(free)):
        kind = rng.choice([kind for kind in INHABITANTS[place][row] if kind != "fish"])  # at sea there is no bowl
        motion = _motion(rng, kind, row, free)
        lanes = {row, *LANES.get(motion, ())}
        if len(found) < wanted and lanes <= free and all(kind != thing.kind for thing in found):
            free -= lanes
            found.append(_mover(rng, place, kind, row, motion))
    return tuple(sorted(found, key=lambda thing: thing.motion == "still"))


def _motion(rng: Random, kind: str, row: str, free: set[str]) -> str:
    """One of the kind's that has room. What is in the sky always moves, a stranded boat and a bird on the ground never.
    """
    ways = [way for way in WAYS.get(kind, ()) if set(LANES.get(way, ())) <= free]
    if row != "sky":
        ways = [way for way in ways if way not in ("up", "down")]
    grounded = kind == "bird" and row != "sky" or kind == "boat" and row == "front"
    if not ways or grounded or row != "sky" and rng.random() < STILL_SHARE:
        return "still"
    return rng.choice(ways)


def _mover(rng: Random, place: str, kind: str, row: str, motion: str) -> Mover:
    colour = rng.choice(TREE_COLOURS if kind == "tree" else
                        [name for name in COLOUR_NAMES if name not in HIDDEN.get(place, ())])
    size = rng.choice(tuple(SCALES))
    scale = SCALES[size] * rng.uniform(0.96, 1.04)
    high = 8 + 100 * scale
    x, base = rng.uniform(110, 226), BASELINE.get(row, high) + rng.uniform(-4, 4)
    feet, scales = ((x, base), (x, base)), (scale, scale)
    if motion in ("left", "right"):
        start, end = EDGE + rng.uniform(0, 20), SIDE - EDGE - rng.uniform(0, 20)
        feet = ((start, base), (end, base)) if motion == "right" else ((end, base), (start, base))
    elif motion in ("up", "down"):
        feet = ((x, LOW), (x, high)) if motion == "up" else ((x, high), (x, LOW))
    elif motion in ("closer", "away"):
        (low, high), scales = (FAR, NEAR), (0.5 * scale, 1.3 * scale)
        feet = ((x, low), (x, high)) if motion == "closer" else ((x, high), (x, low))
        scales = scales if motion == "closer" else scales[::-1]
    mirrored = motion == "left" or motion != "right" and rng.random() < 0.5
    tint = tuple(min(255, max(0, part + rng.randint(-9, 9))) for part in COLOURS[colour])
    return Mover(kind, colour, size, motion, row, feet, scales, mirrored, tint)
