"""Stages 1 and 2 of an embedded target: teach the tower what each cell of a drawn picture shows.

It knows the tower, and of the language model only its token embeddings: at every cell the tower's output
learns to be the mean embedding of the words for what is seen there ("red", "dog", "running"), so that the
language model can read pictures from its first step on.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specflash.data.scenes import PLACES
from specflash.smol.eyes import Eyes
from specflash.smol.looks import ASPECTS, UNTOLD, Labels

THING_WEIGHT = 4.0
"""How much more a cell that shows a thing counts: things cover a tenth of a picture, the background would rule."""


def grid_positions(side: int, width: int) -> Tensor:
    """Sines and cosines of each cell's row and column, [1 + side², width], 0 for the class token.

    A tower starts from them: it need not first learn which patches are neighbours.
    """
    rates = 1.0 / 100 ** (torch.arange(width // 4) / (width // 4))                    # [width / 4]
    angle = torch.arange(side)[:, None] * rates
    wave = torch.cat([angle.sin(), angle.cos()], 1)                                   # [side, width / 2]
    both = torch.cat([wave.repeat_interleave(side, 0), wave.repeat(side, 1)], 1)      # [side², width]
    return torch.cat([torch.zeros(1, width), 0.5 * both])


def all_names() -> list[str]:
    """All that a cell may be named by."""
    return [*PLACES, *(name for names in ASPECTS.values() for name in names)]


class PatchTeacher(nn.Module):
    """Linear heads on a tower's features of cells, and the words that its output should be.

    eyes   the tower, trained here
    words  name -> [D] mean embedding of its tokens in the frozen language model
    """

    def __init__(self, eyes: Eyes, words: dict[str, Tensor]):
        super().__init__()
        self.eyes = eyes
        self.heads = nn.ModuleDict({name: nn.Linear(eyes.width, 1 + len(names)) for name, names in ASPECTS.items()})
        self.place = nn.Linear(eyes.width, len(PLACES))
        for name, names in ASPECTS.items():
            table = torch.stack([torch.zeros_like(words[PLACES[0]]), *(words[word] for word in names)])
            self.register_buffer(f"{name}_words", table, persistent=False)             # [1 + n, D]
        self.register_buffer("place_words", torch.stack([words[place] for place in PLACES]),
                             persistent=False)

    def forward(self, seen: Tensor, labels: Labels, cells: Tensor) -> tuple[Tensor, dict[str, float]]:
        """The loss, and accuracies on cells that show a thing.

        seen    whole pictures or windows of them, as the eyes take them
        labels  of the same P cells
        cells   [B, P] int64  where in the whole picture each lies, row by row
        """
        return self.judge(*self.eyes(seen, cells), labels)

    def judge(self, features: Tensor, told: Tensor, labels: Labels) -> tuple[Tensor, dict[str, float]]:
        """The same for what the eyes gave: features [B, P, W], told [B, P, D]."""
        weight = torch.where(labels.thing, THING_WEIGHT, 1.0)                          # [B, P]
        loss = F.cross_entropy(self.place(features.mean(1)), labels.place)
        log = {}
        for name, head in self.heads.items():
            scores, truth = head(features), labels.aspects[name]
            each = F.cross_entropy(scores.transpose(1, 2), truth, reduction="none", ignore_index=UNTOLD)  # [B, P]
            loss = loss + (each * weight).mean()
            asked = truth > 0
            if asked.any():
                log[name] = (scores.argmax(-1) == truth)[asked].float().mean().item()
        loss = loss + self._word_loss(told, labels, weight)
        return loss, {"loss": loss.item(), **log}

    def _word_loss(self, told: Tensor, labels: Labels, weight: Tensor) -> Tensor:
        """Squared distance of what is told to its words, as a share of their own size."""
        numbers = {name: labels.aspects[name].clamp(min=0) for name in ASPECTS}        # [B, P], nothing where untold
        words = sum(getattr(self, f"{name}_words")[numbers[name]] for name in ASPECTS)
        named = sum((numbers[name] > 0).float() for name in ASPECTS)[..., None]
        place = self.place_words[labels.place][:, None].expand_as(words)
        wanted = torch.where(labels.thing[..., None], words / named.clamp(min=1), place)   # [B, P, D]
        distance = (told - wanted).pow(2).mean(-1)                                     # [B, P]
        return (distance * weight).sum() / (wanted.pow(2).mean(-1) * weight).sum()
