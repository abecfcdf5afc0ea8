"""A tree of drafted tokens of a fixed shape, its tokens the likeliest or drawn. It knows no draft's insides.

As in EAGLE (arXiv 2401.15077, §4.1): the shape is there before the tokens are. Children are drawn without
replacement, each from what the law has left:

    q_1 = q,    q_j = q without the tokens of the siblings before j, renormalised

So `Proposal.q` holds the law each token was really drawn from, and the rule of acceptance.py holds. Where
the law has fewer tokens than a node has children, the others are left out, and what follows them.

Departure. The paper's shape was found by hand on its own data. Here the nodes are those that would be
kept most often, if the child of rank r were kept with probability 0.8 · 0.2^r wherever it stands.
"""

import math
from functools import cache

import torch
from torch import Tensor

from specflash.drafts.tree_config import Expand, TreeConfig
from specflash.sampling import Chance, Sampling, distribution
from specflash.trees import ROOT

KEPT = 0.8


@cache
def shape(nodes: int, branch: int, depth: int) -> tuple[tuple[int, ...], ...]:
    """Paths of ranks of the best nodes, a parent before its children: (0,) (0, 0) (1,) (0, 1) …"""
    level: list[tuple[int, ...]] = [()]
    every: list[tuple[int, ...]] = []
    for _ in range(depth):
        ahead = [(*path, rank) for path in level for rank in range(branch)]
        level = sorted(ahead, key=_score, reverse=True)[:nodes]
        every += level
    # Stable: of equal scores the shorter path comes first, as it was listed first.
    return tuple(sorted(every, key=_score, reverse=True)[:nodes])


def _score(path: tuple[int, ...]) -> float:
    return sum(math.log(KEPT) + rank * math.log(1 - KEPT) for rank in path)


class Pick:
    """Takes children of some nodes [n], one after the other of each.

    logits    [n, V_d] of what follows each node
    sampling  the law they are drawn by; None: the likeliest are taken
    """

    def __init__(self, logits: Tensor, sampling: Sampling | None, chance: Chance):
        self._order = logits.sort(dim=-1, descending=True, stable=True).indices if sampling is None else None
        self._law = None if sampling is None else distribution(logits, sampling)
        self._chance, self._rank = chance, 0

    def next(self) -> tuple[Tensor, Tensor | None, list[bool]]:
        """One more child of every node: columns [n], laws [n, V_d] or None, and which nodes have one left."""
        rank, self._rank = self._rank, self._rank + 1
        if self._order is not None:
            n, known = self._order.shape
            return self._order[:, min(rank, known - 1)], None, [rank < known] * n
        mass = self._law.sum(-1, keepdim=True)                                    # [n, 1]
        left = mass[:, 0] > 0
        law = torch.where(left[:, None], self._law / mass, 1 / self._law.shape[-1])
        columns = self._chance.draw(law)
        self._law = self._law.scatter(1, columns[:, None], 0.0)
        return columns, law, left.tolist()


def plant(first: Tensor, expand: Expand, config: TreeConfig, depth: int, sampling: Sampling | None,
          chance: Chance) -> tuple[Tensor, Tensor | None, tuple[int, ...]]:
    """A tree of at most `config.nodes` nodes and `depth` ≥ 1 levels, level by level.

    first     [1, V_d]  logits of what follows the committed tokens
    expand    as for `grow`
    sampling  the law that children are drawn by; None: the likeliest ones

    Returns the nodes' columns among the draft's logits [M] int64, the laws [M, V_d] or None, and the parents.
    """
    paths = shape(config.nodes, config.branch, depth)
    parents: list[int] = []
    columns: list[Tensor] = []
    laws: list[Tensor] = []
    logits, level = first, {(): (ROOT, 0)}  # of each node of the level: its number, and its row of `logits`
    for _ in range(depth):
        pick, following = Pick(logits, sampling, chance), {}
        for rank in range(config.branch):
            some = [(path, *level[path]) for path in level if (*path, rank) in paths]
            if not some:
                break
            column, law, left = pick.next()
            for path, node, row in some:
                if not left[row]:
                    continue
                following[(*path, rank)] = (len(parents), row, column[row])
                parents.append(node)
                columns.append(column[row])
                if law is not None:
                    laws.append(law[row])
        inner = [path for path in following if any(other[:-1] == path for other in paths)]
        if not inner:
            break
        rows = torch.tensor([following[path][1] for path in inner], device=first.device)
        logits = expand(rows, torch.stack([following[path][2] for path in inner]))
        level = {path: (following[path][0], row) for row, path in enumerate(inner)}
    return torch.stack(columns), torch.stack(laws) if laws else None, tuple(parents)
