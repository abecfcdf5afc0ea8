"""Where an answer first differs from vanilla's, and whether rounding explains it. It keeps no time.

Checking several tokens in one pass adds the same numbers up in another order than checking one. In bfloat16
and float16 two nearly equal logits then change places, which is nobody's fault; in float32 they do not.
"""

from collections.abc import Sequence
from typing import Any

import torch

from flashbench.verify.compare import first_difference, next_logits
from specflash.records import Prompt
from specflash.targets.base import Target

ROUNDINGS = 4
"""So many roundings of the top logit in the target's number format are a tie: two for either computation."""

SAME = {"identical": True, "first_difference": None, "gap": None, "tie": None}
UNKNOWN = {"identical": None, "first_difference": None, "gap": None, "tie": None}


def difference(target: Target, prompt: Prompt, ours: Sequence[int], reference: Sequence[int]) -> dict[str, Any]:
    """The columns `identical`, `first_difference`, `gap` and `tie` of a row.

    gap  how much the target prefers its first choice to the less liked of the two tokens. Where these are its
         two first choices that is `verify.compare.top_two_gap`; any other token is further off. None where one
         of the answers has ended.
    """
    position = first_difference(ours, reference)
    if position is None:
        return SAME
    told = {"identical": False, "first_difference": position, "gap": None, "tie": False}
    if position >= min(len(ours), len(reference)):
        return told
    logits = next_logits(target, prompt, reference[:position])                  # [V]
    top, disliked = float(logits.max()), float(logits[[ours[position], reference[position]]].min())
    gap = top - disliked
    return told | {"gap": gap, "tie": gap < rounding(target.dtype, top)}


def rounding(dtype: torch.dtype, logit: float) -> float:
    """What may separate two logits that are tied; nothing does in float32."""
    return 0.0 if dtype == torch.float32 else ROUNDINGS * torch.finfo(dtype).eps * abs(logit)
