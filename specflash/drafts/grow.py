"""A tree of drafted tokens, grown level by level, of which the likeliest nodes stay. It knows no draft's insides.

As EAGLE-2 does (arXiv 2406.16858, §4): of each level the `branch` nodes with the highest score are
expanded, each by its `branch` likeliest tokens; of all of them the `nodes` best ones stay. A node's score
is Σ log q along its path. No node scores above its parent, so what stays is one tree.

The tree depends on no luck, so whatever the target says may choose a path in it (specflash/trees.py).
The likeliest path lies in the first rows; where it is kept, nothing moves in the target's cache.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from specflash.drafts.base import Draft
from specflash.drafts.fixed_tree import plant
from specflash.drafts.tree_config import Expand, TreeConfig
from specflash.records import Proposal
from specflash.sampling import Chance, Sampling
from specflash.trees import ROOT


def on_every_path(slots: Tensor) -> Expand:
    """For slots [K, V_d] that say the same whatever is said before them; `grow` starts with the first of them."""
    following = iter(slots[1:])
    return lambda parents, columns: next(following).expand(len(parents), -1)


def propose_tree(draft: Draft, first: Tensor, expand: Expand, depth: int, sampling: Sampling,
                 chance: Chance) -> Proposal:
    """The tree that the draft's settings ask for, of at most `depth` ≥ 1 levels; `first` [1, V_d] as for `grow`."""
    config = draft.config
    if config.shape == "grown":
        columns, parents = grow(first, expand, config, depth)
        return Proposal(draft.target_ids(columns), parents=parents)
    drawn = config.sampled and sampling.temperature > 0
    columns, laws, parents = plant(first, expand, config, depth, sampling if drawn else None, chance)
    return Proposal(draft.target_ids(columns), draft.over_all(laws) if drawn else None, parents)


def grow(first: Tensor, expand: Expand, config: TreeConfig, depth: int) -> tuple[Tensor, tuple[int, ...]]:
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
