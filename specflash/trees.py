"""Which drafted token follows which. It knows no draft, no law and no cache.

The rows of a verifying pass are the pending token and, behind it, the drafted ones. A tree is told by
its parents, one per drafted token: the drafted token it follows, or ROOT for the pending one.

    drafted     d0    d1    d2    d3        d0 d1 d2  one path,  d3  another first token
    parents     -1     0     1    -1
    row    0     1     2     3     4
    depth  0     1     2     3     1
    sees  {0} {0,1} {0,1,2} {0,1,2,3} {0,4}
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Parents = tuple[int, ...]

ROOT = -1


def depths(parents: Sequence[int]) -> list[int]:
    """How far each of the M+1 rows lies behind the pending token, which is the first."""
    depth = [0]
    for parent in parents:
        depth.append(depth[parent + 1] + 1)
    return depth


def ancestors(parents: Sequence[int]) -> Tensor:
    """[M+1, M+1] bool, True where a row may see another: itself, and what it follows."""
    seen = torch.eye(len(parents) + 1, dtype=torch.bool)
    for row, parent in enumerate(parents, start=1):
        seen[row] |= seen[parent + 1]
    return seen


def follow(tokens: Sequence[int], parents: Sequence[int], say: Callable[[int], int]) -> tuple[list[int], int]:
    """Go down the tree as long as the target says a drafted token.

    say  what the target says in a row of the pass: its likeliest token, or one drawn from its law.
         It is asked once for each row that is reached, and for no other.

    Returns the drafted tokens that are kept (their numbers), and the target's token behind them. As
    every token is the target's own, the law is the target's own too, for whatever tree was drafted
    without regard to what it says.
    """
    children = {(parent, token): node for node, (parent, token) in enumerate(zip(parents, tokens, strict=True))}
    path: list[int] = []
    node = ROOT
    while True:
        token = say(node + 1)
        following = children.get((node, token))
        if following is None:
            return path, token
        path.append(following)
        node = following
