"""Which (base, slot) rows of a batch are trained. It knows no draft.

The alignment is drawn with toy values in the docstring of `specflash.records.Batch`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Anchors:
    """The bases of a batch that have at least one trained slot, packed to the left.

    bases  [B, A] int64    base t of each anchor; 0 where a sample has fewer than A
    valid  [B, A, K] bool  slot i at the anchor is trained; then so are all slots before it

    The trained rows, in the order of `valid.nonzero()`, so those of an anchor stand together from slot 0 on:
    sample, slot  [R] int64
    target        [R] int64  the position t+1+i whose feature the row regresses to
    """

    bases: Tensor
    valid: Tensor
    sample: Tensor
    slot: Tensor
    target: Tensor


def trained_slots(answer_mask: Tensor, slots: int) -> Tensor:
    """Slot i at base t is trained where x_{t+1} … x_{t+2+i} all belong to one answer.

    answer_mask [B, L] -> [B, L, K] bool
    (Answers of one conversation never touch: a question stands between them.)
    """
    B, L = answer_mask.shape
    ahead = torch.cat([answer_mask, answer_mask.new_zeros(B, slots + 1)], 1)      # [B, L+K+1]
    alive, rows = ahead[:, 1 : L + 1], []
    for i in range(slots):
        alive = alive & ahead[:, 2 + i : L + 2 + i]
        rows.append(alive)
    return torch.stack(rows, -1)


def find_anchors(answer_mask: Tensor, slots: int) -> Anchors:
    trained = trained_slots(answer_mask, slots)                                   # [B, L, K]
    is_anchor = trained[..., 0]  # slots are nested: a base without slot 0 has none
    count = is_anchor.sum(1)                                                      # [B]
    most = int(count.max())
    bases = (~is_anchor).int().argsort(dim=1, stable=True)[:, :most]                  # [B, A]
    real = torch.arange(most, device=bases.device) < count[:, None]
    bases = bases.masked_fill(~real, 0)
    valid = trained.gather(1, bases[..., None].expand(-1, -1, slots)) & real[..., None]
    return _with_rows(bases, valid)


def thin(anchors: Anchors, keep: float) -> Anchors:
    """Keep slot 0 of every anchor, and each later slot with probability `keep` where the one before it
    is kept: slot i with keep^i, and never without those whose words it may hear.

    A draft reaches slot i only where all slots before it were right, so late slots matter less: the
    mean over the rows kept weighs them so, and the rows left out cost nothing.
    """
    drawn = torch.rand(anchors.valid.shape, device=anchors.valid.device) < keep   # [B, A, K]
    drawn[..., 0] = True
    return _with_rows(anchors.bases, anchors.valid & drawn.cumprod(-1).bool())


def _with_rows(bases: Tensor, valid: Tensor) -> Anchors:
    """Anchors whose trained rows follow from `valid`."""
    sample, anchor, slot = valid.nonzero(as_tuple=True)
    return Anchors(bases, valid, sample, slot, bases[sample, anchor] + 1 + slot)
