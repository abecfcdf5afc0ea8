"""What a picture, or a slice of a clip, shows where: the truth that a tower is taught. It knows no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from random import Random

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from specflash.data.clip_scenes import MOTIONS, ClipScene, Mover
from specflash.data.scenes import ACTIONS, COLOUR_NAMES, KINDS, PLACES, SIDE, Scene, Thing

ACTION_NAMES = ("flying", *sorted({name for names in ACTIONS.values() for name in names if name}))
MOMENTS = ("first", "last", "both")
"""in which frames of a slice a cell shows its thing"""
ASPECTS = {"kind": KINDS, "colour": COLOUR_NAMES, "action": ACTION_NAMES, "motion": MOTIONS, "moment": MOMENTS}
"""what is told of a cell; index 0 means "nothing", index i the name i - 1"""
UNTOLD = -1
"""of a cell of which nobody knows: a still picture tells no motion"""
LEAST = 0.25
"""share of a cell that a thing must cover to count as shown there"""


@dataclass(frozen=True)
class Look:
    """masks: per frame [336, 336] uint8, 0 background, i + 1 where `things[i]` is seen; a picture has one."""

    masks: tuple[np.ndarray, ...]
    things: Sequence[Thing | Mover]
    place: str

    @property
    def mask(self) -> np.ndarray:
        """Of all frames together, the later ones on top."""
        whole = self.masks[0]
        for mask in self.masks[1:]:
            whole = np.where(mask, mask, whole)
        return whole

    def shown(self, side: int) -> np.ndarray:
        """[side, side] int64 over a grid of the picture: 0 background, i + 1 where a cell shows `things[i]`."""
        return self._cells(self.mask, side)

    def moments(self, side: int) -> np.ndarray:
        """[side, side] int64: 0 background, else 1 + index into MOMENTS; UNTOLD of a still picture's things."""
        whole = self.shown(side)
        if len(self.masks) == 1:
            return np.where(whole, UNTOLD, 0)
        first, last = (self._cells(mask, side) == whole for mask in (self.masks[0], self.masks[-1]))
        return np.where(whole > 0, first + 2 * last, 0)

    def _cells(self, mask: np.ndarray, side: int) -> np.ndarray:
        unit = ceil(SIDE / side)
        large = np.asarray(Image.fromarray(mask).resize((side * unit, side * unit), Image.Resampling.NEAREST))
        squares = large.reshape(side, unit, side, unit)
        shares = np.stack([(squares == index + 1).mean((1, 3)) for index in range(len(self.things))])
        return np.where(shares.max(0) >= LEAST, shares.argmax(0) + 1, 0)

    def centres(self) -> list[tuple[float, float]]:
        """(x, y) in pixels of every thing that is seen."""
        places = [np.argwhere(self.mask == index + 1) for index in range(len(self.things))]
        return [tuple(((at.min(0) + at.max(0) + 1) / 2)[::-1]) for at in places if len(at)]


def look_at(scene: Scene) -> Look:
    return Look((scene.thing_mask(),), scene.things, scene.place)


def look_at_slices(clip: ClipScene, frames: Sequence[int], deep: int) -> list[Look]:
    """One look per slice of `deep` of the clip's frames; the last frame fills up the last slice."""
    masks = [clip.thing_mask(frame) for frame in frames]
    return [Look(tuple(masks[start:start + deep]), clip.things, clip.place) for start in range(0, len(masks), deep)]


@dataclass(frozen=True)
class Labels:
    """aspects: name -> [B, P] int64; place: [B] int64, index into PLACES."""

    aspects: dict[str, Tensor]
    place: Tensor

    @property
    def thing(self) -> Tensor:
        """[B, P] bool: the cell shows a thing."""
        return self.aspects["kind"] > 0

    def of(self, owner: Tensor, at: Tensor) -> "Labels":
        """The labels of cells `at` [W, p] of the pictures `owner` [W]."""
        return Labels({name: whole[owner].gather(1, at) for name, whole in self.aspects.items()}, self.place[owner])


def label(looks: Sequence[Look], side: int) -> Labels:
    """Labels of all cells of a grid of `side` × `side`, row by row."""
    shown = [look.shown(side).ravel() for look in looks]
    aspects = {name: torch.from_numpy(np.stack([_values(look, name, names)[where]
                                                for look, where in zip(looks, shown, strict=True)]))
               for name, names in ASPECTS.items() if name != "moment"}
    aspects["moment"] = torch.from_numpy(np.stack([look.moments(side).ravel() for look in looks]))
    return Labels(aspects, torch.tensor([PLACES.index(look.place) for look in looks]))


def _values(look: Look, aspect: str, names: Sequence[str]) -> np.ndarray:
    """[1 + things]: the label of a cell that shows nothing, or this thing."""
    told = [getattr(thing, aspect, UNTOLD) for thing in look.things]
    return np.array([0] + [UNTOLD if value == UNTOLD else 1 + names.index(value) if value in names else 0
                           for value in told])


def windows(looks: Sequence[Look], side: int, window: int, rng: Random) -> tuple[Tensor, Tensor]:
    """Squares of `window` × `window` cells, one around every thing -> whose they are [W], which cells [W, p].

    A thing fits into a window, and a window costs a tenth of a picture, so a tower learns what
    things look like from many more of them in the same time.
    """
    grid = torch.arange(side * side).reshape(side, side)
    owner, cells = [], []
    for index, look in enumerate(looks):
        for centre in look.centres():
            left, top = (_window_start(place * side / SIDE, side, window, rng) for place in centre)
            owner.append(index)
            cells.append(grid[top:top + window, left:left + window].flatten())
    return torch.tensor(owner), torch.stack(cells)


def _window_start(centre: float, side: int, window: int, rng: Random) -> int:
    start = round(centre - window / 2 + rng.uniform(-window / 6, window / 6))
    return min(max(start, 0), side - window)


def all_cells(count: int, side: int) -> Tensor:
    """The cells of `count` whole pictures. [B, side²]"""
    return torch.arange(side * side).expand(count, -1)


def choose_cells(shown: Tensor, count: int, rng: Random) -> Tensor:
    """`count` of the cells, ascending: those that show a thing first, then background.

    shown  [N] bool, True where a cell shows a thing

    Most of the training keeps few visual tokens and is that much cheaper; the last part keeps all.
    """
    order = sorted(range(len(shown)), key=lambda cell: (not shown[cell], rng.random()))
    return torch.tensor(sorted(order[:count]))
