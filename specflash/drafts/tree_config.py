"""Settings of drafts that may propose trees, and what such a draft has to give. It knows no tree."""

from collections.abc import Callable
from typing import Literal, Self

from pydantic import Field, model_validator
from torch import Tensor

from specflash.cache import HEADROOM
from specflash.drafts.base import DraftConfig


class TreeConfig(DraftConfig):
    """Settings of a draft that may propose trees.

    nodes   drafted tokens of a tree, whose longest path has `k`; 0: a chain of `k`
    branch  by how many tokens a node is followed; of a grown tree also, how many nodes of a level are
    shape   grown: the likeliest nodes there are (grow.py). fixed: the same places every time, whose tokens
            `sampled` draws (fixed_tree.py)
    """

    nodes: int = Field(0, ge=0, lt=HEADROOM)
    branch: int = Field(4, ge=1)
    shape: Literal["grown", "fixed"] = "grown"

    decoding = DraftConfig.decoding | {"nodes", "branch", "shape"}

    @property
    def most(self) -> int:
        return self.nodes or self.k

    @property
    def chains(self) -> bool:
        return not self.nodes

    @model_validator(mode="after")
    def _grown_trees_are_not_drawn(self) -> Self:
        if self.nodes and self.sampled and self.shape == "grown":
            raise ValueError("a grown tree holds the likeliest tokens, `sampled` would draw them: set shape to fixed, "
                             "or sampled to false")
        return self


Expand = Callable[[Tensor, Tensor], Tensor]
"""(parents [n], columns [n]) -> logits [n, V_d] of what follows n nodes of the next level.

parents  which node of the call before each one follows, by number; 0 in the first call
columns  of each one's token among the draft's logits
"""
