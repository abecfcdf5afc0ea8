"""The acceptance rule that makes speculative decoding lossless.

It works on probabilities alone: it knows no model, no cache and no temperature. At temperature 0
the target's law is one-hot (see sampling.py), and so is the law of a deterministic draft: the same
rule holds, and `accept_greedy` is what it comes to.

The rule is that of Leviathan et al. 2023 and Chen et al. 2023. Row j of p judges drafted token j;
row K, behind the last one, gives the bonus token:

    drafted       d0   d1   d2                   [K]
    q             q0   q1   q2   0               what the draft offered; nothing behind the last
    p             p0   p1   p2   p3              [K+1, V]
    d0, d1 kept, d2 rejected  -> next token from the residual of p2 and q2
    all kept                  -> next token from p3, the residual of p3 and nothing
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from specflash.sampling import Chance
from specflash.trees import ROOT


def accept(drafted: Tensor, q: Tensor | None, p: Tensor, chance: Chance) -> tuple[Tensor, Tensor]:
    """Keep a prefix of the draft and draw the one token that follows it.

    drafted  [K] int64           proposed tokens, K may be 0
    q        [K, V] float32      the law each was drawn from given those before it; None: one-hot
    p        [K+1, V] float32    the target's law at each slot, and behind the last

    Returns how many drafted tokens are kept and the next token, both int64 scalars on p's device
    (the caller moves them to the host together).
    """
    offered = offered_law(drafted, q, p.shape[-1])                             # [K, V]
    probability = acceptance_probability(p[:-1], offered, drafted)             # [K]
    kept = chance.streak(probability)  # length of the accepted prefix
    offered = F.pad(offered, (0, 0, 0, 1))                                     # [K+1, V]
    row = kept[None]  # as an index of shape [1] it stays on the device
    return kept, chance.draw(residual(p[row], offered[row]))[0]


def accept_greedy(drafted: Tensor, best: Tensor) -> tuple[Tensor, Tensor]:
    """What `accept` comes to where both laws are one-hot, without the laws.

    drafted  [K] int64      proposed tokens, each the most likely one of its draft
    best     [K+1] int64    the target's most likely token at each slot, and behind the last
    """
    kept = (drafted == best[:-1]).long().cumprod(0).sum()
    return kept, best[kept]


def accept_drawn(tokens: Sequence[int], parents: Sequence[int], q: Tensor, law: Callable[[int], Tensor],
                 chance: Chance) -> tuple[list[int], int]:
    """The same for a tree of drawn tokens: child after child is tried, each against what the older ones left of p.

    tokens, parents  of the M drafted tokens (trees.py)
    q     [M, V]     the law each was drawn from, given what it follows and its older siblings
    law              row of the pass -> [1, V], the target's law there; asked once for each row reached

    Returns the drafted tokens that are kept (their numbers), and the token behind them.
    Source: EAGLE (arXiv 2401.15077), SpecInfer (arXiv 2305.09781, multi-round rejection sampling).
    """
    path: list[int] = []
    node = ROOT
    while True:
        p = law(node + 1)                                                      # [1, V]
        for child in (child for child, parent in enumerate(parents) if parent == node):
            drafted = torch.tensor([tokens[child]], device=p.device)
            if int(chance.streak(acceptance_probability(p, q[child, None], drafted))):
                node = child
                path.append(child)
                break
            p = residual(p, q[child, None])
        else:
            return path, int(chance.draw(p))


def offered_law(drafted: Tensor, q: Tensor | None, vocabulary: int) -> Tensor:
    """[K, V] float32: q, or one-hot rows where the tokens were chosen deterministically."""
    if q is not None:
        return q
    law = torch.zeros(len(drafted), vocabulary, device=drafted.device)
    return law.scatter_(-1, drafted[:, None], 1.0)


def acceptance_probability(p: Tensor, q: Tensor, drafted: Tensor) -> Tensor:
    """min(1, p(d) / q(d)), row by row: [K, V], [K, V], [K] -> [K]"""
    drafted = drafted[:, None]
    return (p.gather(-1, drafted) / q.gather(-1, drafted)).squeeze(-1).clamp(max=1)


def residual(p: Tensor, q: Tensor) -> Tensor:
    """The law after a rejection, norm(max(p - q, 0)), row by row: [R, V], [R, V] -> [R, V]

    Where p and q agree up to rounding nothing is left to draw from; then it is p itself. (That is
    reached with a probability that is no more than rounding either.)
    """
    left = (p - q).clamp(min=0)
    mass = left.sum(-1, keepdim=True)                                          # [R, 1]
    return torch.where(mass > torch.finfo(p.dtype).eps, left / mass, p)
