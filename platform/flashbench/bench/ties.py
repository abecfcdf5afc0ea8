"""Where an answer first differs from vanilla's, and whether rounding explains it: columns of a row.

What a tie is, is decided by the gate (`verify.compare.divergence`). In float32 there is none: the passes of
a draft and of vanilla give equal tokens there, and the comparison is refused where they do not.
"""

from collections.abc import Sequence
from typing import Any

import torch

from flashbench.verify.compare import divergence
from specflash.records import Prompt
from specflash.targets.base import Target

SAME = {"identical": True, "first_difference": None, "gap": None, "tie": None}
UNKNOWN = {"identical": None, "first_difference": None, "gap": None, "tie": None}


def difference(target: Target, prompt: Prompt, ours: Sequence[int], reference: Sequence[int]) -> dict[str, Any]:
    """The columns `identical`, `first_difference`, `gap` (of the target's top two logits) and `tie`."""
    found = divergence(target, prompt, ours, reference)
    if found is None:
        return SAME
    tie = found.kind == "tie" and target.dtype != torch.float32
    return {"identical": False, "first_difference": found.position, "gap": found.gap, "tie": tie}
