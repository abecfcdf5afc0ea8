"""Rotary position embedding (RoFormer, arXiv 2104.09864). It knows no draft."""

from typing import Annotated, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

HeadDim = Annotated[int, Field(ge=2, multiple_of=2)]
"""Width of a head, as a setting: its halves form the rotated pairs."""


class Turn(NamedTuple):
    """The rotation at some positions: cos and sin, each [..., d] for heads of width d."""

    cos: Tensor
    sin: Tensor

    def pick(self, index: tuple) -> "Turn":
        """The same tensor index applied to both."""
        return Turn(self.cos[index], self.sin[index])


def turn(positions: Tensor, head_dim: int, dtype: torch.dtype, theta: float = 1e4) -> Turn:
    """positions [...] int64 -> Turn [..., head_dim]; angles in float32 whatever the dtype."""
    exponents = torch.arange(0, head_dim, 2, device=positions.device).float() / head_dim
    angles = positions[..., None].float() * theta ** -exponents                   # [..., d/2]
    angles = torch.cat([angles, angles], -1)                                      # [..., d]
    return Turn(angles.cos().to(dtype), angles.sin().to(dtype))


def rotate(x: Tensor, by: Turn) -> Tensor:
    """x [..., d] turned by `by` [..., d], the halves (j, j + d/2) forming the rotated pairs."""
    left, right = x.chunk(2, -1)
    return x * by.cos + torch.cat([-right, left], -1) * by.sin
