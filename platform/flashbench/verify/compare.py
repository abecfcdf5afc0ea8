"""Two answers to one prompt, token for token, and whether rounding explains where they part.

It knows no draft and no benchmark.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from specflash.decoding import Passes
from specflash.records import Prompt
from specflash.targets.base import Target

TIE_ULPS = 4
"""Two passes over the same tokens may differ by a few roundings per logit. A wider gap is no tie, unless the target
alone rounds wider: see `unrest`."""


@dataclass(frozen=True)
class Divergence:
    """Where an answer leaves another one, and what the target itself thinks of it.

    position  first token that differs or is missing on one side
    gap       how much the target prefers its first choice over its second there, in logit units
    ulps      the same in steps of the target's dtype at the size of its best logit
    lag       most ulps by which any token of the answer lies below the target's best one, when the
              target reads the whole answer in one pass (teacher-forced replay)
    limit     the ulps that rounding explains here: TIE_ULPS, or the target's own `unrest` where that is more
    kind      "tie": both answers go on, and rounding explains every token; else "real"
    """

    position: int
    gap: float
    ulps: float
    lag: float
    limit: float
    kind: Literal["tie", "real"]


def first_difference(ours: Sequence[int], reference: Sequence[int]) -> int | None:
    """Position of the first token that differs or is missing on one side; None where there is none."""
    for position, (one, other) in enumerate(zip(ours, reference, strict=False)):
        if one != other:
            return position
    return None if len(ours) == len(reference) else min(len(ours), len(reference))


def top_two_gap(target: Target, prompt: Prompt, answer: Sequence[int]) -> float:
    """How much the target prefers its first choice over its second after `answer` (logit units).

    Computed by one pass over everything without a cache. A gap of a few roundings explains a
    difference in low precision; a wide one is a bug in the engine.
    """
    return _gap(replay(target, prompt, answer)[-1])


def divergence(target: Target, prompt: Prompt, ours: Sequence[int], reference: Sequence[int]) -> Divergence | None:
    """Where the greedy answer `ours` leaves `reference`, and of what kind that is; None where it never does."""
    position = first_difference(ours, reference)
    if position is None:
        return None
    rows = replay(target, prompt, ours)                                         # [n+1, V]
    there = rows[position]
    ulps = _gap(there) / ulp(there.max(), target.dtype)
    lag = max(_lag(row, token, target.dtype) for row, token in zip(rows, ours, strict=False))
    limit = max(TIE_ULPS, 0.0 if target.dtype == torch.float32 else unrest(target, prompt, reference))
    tie = _ends_well(target, ours, reference, position) and max(ulps, lag) <= limit
    return Divergence(position, _gap(there), ulps, lag, limit, "tie" if tie else "real")


def unrest(target: Target, prompt: Prompt, answer: Sequence[int]) -> float:
    """Most ulps by which the gap of the target's two best tokens differs between two readings of its own answer.

    One reading is a single pass over everything, the other one token at a time, as vanilla decodes. No draft has
    a part in it: it is what the number format does to this target on this answer.
    """
    moved = 0.0
    for whole, single in zip(replay(target, prompt, answer), _token_by_token(target, prompt, answer), strict=True):
        pair = whole.topk(2).indices                                            # [2]
        gaps = [float(row[pair[0]]) - float(row[pair[1]]) for row in (whole, single)]
        moved = max(moved, abs(gaps[0] - gaps[1]) / ulp(whole.max(), target.dtype))
    return moved


@torch.inference_mode()
def replay(target: Target, prompt: Prompt, answer: Sequence[int]) -> Tensor:
    """Logits of one pass over prompt and answer without a cache: row j judges answer[j]. [n+1, V]"""
    embeds = target.embed_prompt(prompt)                                        # [1, L, D]
    if answer:
        ids = torch.tensor([list(answer)], device=target.device)
        embeds = torch.cat([embeds, target.embed(ids)], dim=1)                  # [1, L+n, D]
    positions = target.positions(prompt, 0, embeds.shape[1])
    return target.forward(embeds, None, positions, None, keep=len(answer) + 1).logits[0]


@torch.inference_mode()
def _token_by_token(target: Target, prompt: Prompt, answer: Sequence[int]) -> Tensor:
    """The rows of `replay`, each from a pass of its own behind the cache. [n+1, V]"""
    passes = Passes(target, prompt, len(answer), None)
    rows = [passes.prefill(target.embed_prompt(prompt)).logits[0]]
    rows += [passes.verify(torch.tensor([token], device=target.device)).logits[0] for token in answer]
    return torch.cat(rows)


def ulp(value: Tensor | float, dtype: torch.dtype) -> float:
    """The step between neighbours of `value` in `dtype`."""
    exponent = math.floor(math.log2(max(abs(float(value)), torch.finfo(dtype).tiny)))
    return torch.finfo(dtype).eps * 2.0 ** exponent


def _gap(row: Tensor) -> float:
    first, second = row.float().topk(2).values.tolist()
    return first - second


def _lag(row: Tensor, token: int, dtype: torch.dtype) -> float:
    best = float(row.max())
    return (best - float(row[token])) / ulp(best, dtype)


def _ends_well(target: Target, ours: Sequence[int], reference: Sequence[int], position: int) -> bool:
    """No token is missing where the answers part, none stands behind an end token, and none is left out."""
    parted = position < min(len(ours), len(reference))
    ended = [token in target.end_ids for token in ours]
    return parted and not any(ended[:-1]) and (ended[-1] or len(ours) >= len(reference))
