"""Stages 1 and 2 of the embedded target: teach the tower what each patch of a drawn scene shows.

It knows the tower and the projector, and of the language model only its token embeddings: the
projector learns to put, at every patch, the mean embedding of the words for what is seen there
("red", "dog", "running"), so that the language model can read pictures from its first step on.
"""

from dataclasses import dataclass
from random import Random

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specflash.data.scenes import ACTIONS, COLOUR_NAMES, KINDS, PATCH, PLACES, SIDE, Scene

ACTION_NAMES = ("flying", *sorted({name for names in ACTIONS.values() for name in names if name}))
CELLS = SIDE // PATCH
WINDOW = 9
ASPECTS = {"kind": KINDS, "colour": COLOUR_NAMES, "action": ACTION_NAMES}
"""what is told of a patch; index 0 means "no thing", index i the name i - 1"""


@dataclass(frozen=True)
class PatchLabels:
    """kind, colour, action: [B, P] int64, 0 for background; place: [B] int64."""

    aspects: dict[str, Tensor]
    place: Tensor


def label(scenes: list[Scene]) -> PatchLabels:
    seen = [scene.patch_labels() for scene in scenes]
    aspects = {name: _stack(part[name] for part in seen) for name in ("kind", "colour")}
    aspects["action"] = _stack(_actions(scene, part) for scene, part in zip(scenes, seen, strict=True))
    return PatchLabels(aspects, torch.tensor([int(part["place"]) for part in seen]))


def windows(scenes: list[Scene], pixels: Tensor, labels: PatchLabels, rng: Random
            ) -> tuple[Tensor, PatchLabels, Tensor]:
    """One window of WINDOW × WINDOW patches around every thing: pixels, labels and cells of it.

    A thing fits into a window, and a window costs a tenth of a picture, so the tower learns what
    things look like from many more of them in the same time.
    """
    grid = torch.arange(CELLS * CELLS).reshape(CELLS, CELLS)
    cut, owner, cells = [], [], []
    for index, scene in enumerate(scenes):
        for thing in scene.things:
            left, top = (_window_start(centre, rng) for centre in thing.centre)
            square = (slice(top * PATCH, (top + WINDOW) * PATCH), slice(left * PATCH, (left + WINDOW) * PATCH))
            cut.append(pixels[index][:, square[0], square[1]])
            owner.append(index)
            cells.append(grid[top:top + WINDOW, left:left + WINDOW].flatten())
    at = torch.stack(cells)                                                            # [W, P]
    aspects = {name: whole[owner].gather(1, at) for name, whole in labels.aspects.items()}
    return torch.stack(cut), PatchLabels(aspects, labels.place[owner]), at


def _window_start(centre: float, rng: Random) -> int:
    start = round(centre / PATCH - WINDOW / 2 + rng.uniform(-1.5, 1.5))
    return min(max(start, 0), CELLS - WINDOW)


def all_cells(count: int) -> Tensor:
    """The cells of `count` whole pictures. [B, 576]"""
    return torch.arange(CELLS * CELLS).expand(count, -1)


def grid_positions(width: int) -> Tensor:
    """Sines and cosines of each cell's row and column, [1 + 576, width], 0 for the class token.

    The tower starts from them: it need not first learn which patches are neighbours.
    """
    rates = 1.0 / 100 ** (torch.arange(width // 4) / (width // 4))                    # [width / 4]
    angle = torch.arange(CELLS)[:, None] * rates
    wave = torch.cat([angle.sin(), angle.cos()], 1)                                   # [24, width / 2]
    both = torch.cat([wave.repeat_interleave(CELLS, 0), wave.repeat(CELLS, 1)], 1)    # [576, width]
    return torch.cat([torch.zeros(1, width), 0.5 * both])


def _stack(maps) -> Tensor:
    return torch.from_numpy(np.stack(list(maps))).flatten(1)                          # [B, P]


def _actions(scene: Scene, part: dict[str, np.ndarray]) -> np.ndarray:
    """[24, 24]: action of the thing a patch shows (things that share kind and colour act alike)."""
    actions = np.zeros((CELLS, CELLS), np.int64)
    for thing in scene.things:
        if thing.action in ACTION_NAMES:
            here = ((part["kind"] == 1 + KINDS.index(thing.kind))
                    & (part["colour"] == 1 + COLOUR_NAMES.index(thing.colour)))
            actions[here] = 1 + ACTION_NAMES.index(thing.action)
    return actions


class PatchTeacher(nn.Module):
    """Linear heads on the tower's patch features, and the word target of the projector.

    tower, projector  parts of the LLaVA model, trained here
    words             name -> [D] mean embedding of its tokens in the frozen language model
    """

    def __init__(self, tower: nn.Module, projector: nn.Module, words: dict[str, Tensor]):
        super().__init__()
        self.tower, self.projector = tower, projector
        width = tower.config.hidden_size
        self.heads = nn.ModuleDict({name: nn.Linear(width, 1 + len(names))
                                    for name, names in ASPECTS.items()})
        self.place = nn.Linear(width, len(PLACES))
        for name, names in ASPECTS.items():
            table = torch.stack([torch.zeros_like(words["dog"]), *(words[word] for word in names)])
            self.register_buffer(f"{name}_words", table, persistent=False)             # [1 + n, D]
        self.register_buffer("place_words", torch.stack([words[place] for place in PLACES]),
                             persistent=False)

    def forward(self, pixels: Tensor, labels: PatchLabels, cells: Tensor) -> tuple[Tensor, dict[str, float]]:
        """The loss, and accuracies on patches that show a thing.

        pixels  [B, 3, S, S]  whole pictures or windows of them
        labels  of the same P patches
        cells   [B, P] int64  where in the whole picture each patch lies, row by row
        """
        patches = self._see(pixels, cells)                                             # [B, P, W]
        loss = F.cross_entropy(self.place(patches.mean(1)), labels.place)
        thing = labels.aspects["kind"] > 0                                             # [B, P]
        log = {}
        for name, head in self.heads.items():
            scores, truth = head(patches), labels.aspects[name]
            # Things cover a tenth of a picture: without weights the background would rule.
            each = F.cross_entropy(scores.transpose(1, 2), truth, reduction="none")    # [B, P]
            loss = loss + (each * torch.where(thing, 4.0, 1.0)).mean()
            log[name] = (scores.argmax(-1) == truth)[thing].float().mean().item()
        loss = loss + self._word_loss(patches, labels, thing)
        return loss, {"loss": loss.item(), **log}

    def _see(self, pixels: Tensor, cells: Tensor) -> Tensor:
        """What the tower gives for whole pictures, from the patches in `cells` alone."""
        embeddings = self.tower.embeddings
        patches = embeddings.patch_embedding(pixels).flatten(2).transpose(1, 2)        # [B, P, W]
        whole = embeddings.class_embedding.expand(len(pixels), 1, -1)
        at = torch.cat([torch.zeros_like(cells[:, :1]), 1 + cells], 1)                 # [B, 1 + P]
        x = torch.cat([whole, patches], 1) + embeddings.position_embedding(at)
        return self.tower.encoder(inputs_embeds=self.tower.pre_layrnorm(x)).last_hidden_state[:, 1:]

    def _word_loss(self, patches: Tensor, labels: PatchLabels, thing: Tensor) -> Tensor:
        """Squared distance of the projected patch to its words, as a share of their own size."""
        words = sum(getattr(self, f"{name}_words")[labels.aspects[name]] for name in ASPECTS)
        named = sum((labels.aspects[name] > 0).float() for name in ASPECTS)[..., None]
        place = self.place_words[labels.place][:, None].expand_as(words)
        wanted = torch.where(thing[..., None], words / named.clamp(min=1), place)      # [B, P, D]
        weight = torch.where(thing, 4.0, 1.0)
        distance = (self.projector(patches) - wanted).pow(2).mean(-1)                  # [B, P]
        return (distance * weight).sum() / (wanted.pow(2).mean(-1) * weight).sum()
