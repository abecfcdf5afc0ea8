"""A tree of drafted tokens, grown level by level, of which the likeliest nodes stay. It knows no draft's insides.

As EAGLE-2 does (arXiv 2406.16858, §4): of each level the `branch` nodes with the highest score are
expanded, each by its `branch` likeliest tokens; of all of them the `nodes` best ones stay. A node's score
is Σ log q along its path. No node scores above its parent, so what stays is one tree.

The tree depends on no luck, so whatever the target says may choose a path in it (specflash/trees.py).
The likeliest path lies in the first rows; where it is kept, nothing moves in the target's cache.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from specflash.cache import HEADROOM
from specflash.drafts.base import DraftConfig
from specflash.trees import ROOT


class TreeConfig(DraftConfig):
    """Settings of a draft that may propose trees.

    nodes   drafted tokens of a tree, whose longest path has `k`; 0: a chain of `k`
    branch  how many nodes of a level are followed, by how many tokens each
    """

    nodes: int = Field(0, ge=0, lt=HEADROOM)
    branch: int = Field(4, ge=1)

    decoding = DraftConfig.decoding | {"nodes", "branch"}

    @property
    def most(self) -> int:
        return self.nodes or self.k

    @property
    def chains(self) -> bool:
        return not self.nodes

    @model_validator(mode="after")
    def _trees_are_not_drawn(self) -> Self:
        if self.nodes and self.sampled:
            raise ValueError("`sampled` draws chains: a tree holds the likeliest tokens; set nodes to 0 or sampled to "
                             "false")
        return self


Expand = Callable[[Tensor, Tensor], Tensor]
"""(parents [n], columns [n]) -> logits [n, V_d] of what follows n nodes of the next level.

parents  which node of the call before each one follows, by number; 0 in the first call
columns  of each one's token among the draft's logits
"""


def grow(first: Tensor, expand: Expand, config: Any, depth: int) -> tuple[Tensor, tuple[int, ...]]:
    """A tree of at most `config.nodes` nodes and `depth` ≥ 1 levels.

    first  [1, V_d]  logits of what follows the committed tokens

    Returns the nodes' columns among the draft's logits [M] int64, and their parents.
    """
    logits, scores, frontier = first, first.new_zeros(1), torch.full((1,), ROOT, device=first.device)
    levels: list[tuple[Tensor, Tensor, Tensor]] = []  # scores, columns and parents
    grown = 0
    for level in range(depth):
        best, columns = logits.float().log_softmax(-1).topk(min(config.branch, logits.shape[-1]))     # [n, b]
        ahead = (scores[:, None] + best).flatten()                                                    # [n·b]
        levels.append((ahead, columns.flatten(), frontier.repeat_interleave(best.shape[-1])))
        if level == depth - 1:
            break
        scores, chosen = ahead.topk(min(config.branch, len(ahead)))
        logits = expand(chosen // best.shape[-1], columns.flatten()[chosen])
        frontier = grown + chosen
        grown += len(ahead)
    scores, columns, parents = (torch.cat(parts) for parts in zip(*levels, strict=True))
    # Stable: of equal scores the parent's comes first, as it was listed first.
    best = scores.sort(descending=True, stable=True).indices[: config.nodes]
    order, parents = in_rows(torch.stack([best, parents[best]]).tolist())
    return columns[torch.tensor(order, device=columns.device)], parents


def in_rows(nodes: Sequence[list[int]]) -> tuple[list[int], tuple[int, ...]]:
    """Nodes (numbers, and the numbers of their parents; the better ones first) in the order of their rows:
    every node is followed by its best child. Returns the numbers in that order, and the rows' parents.
    """
    children: dict[int, list[int]] = {}
    for node, parent in zip(*nodes, strict=True):
        children.setdefault(parent, []).append(node)
    order: list[int] = []
    parents: list[int] = []
    waiting = [(node, ROOT) for node in reversed(children[ROOT])]
    while waiting:
        node, parent = waiting.pop()
        waiting += [(child, len(order)) for child in reversed(children.get(node, []))]
        order.append(node)
        parents.append(parent)
    return order, tuple(parents)
