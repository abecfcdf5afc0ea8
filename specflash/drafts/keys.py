"""Attention keys and values of committed bases, grown in place. It knows no draft."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Keys(NamedTuple):
    """Keys and values of T rows, each [B, H, ..., T, d]."""

    k: Tensor
    v: Tensor


def join(parts: Sequence[Keys]) -> Keys:
    """One after the other along T."""
    return Keys(torch.cat([part.k for part in parts], -2), torch.cat([part.v for part in parts], -2))


class KeyBuffer:
    """Room for the keys of one block and one request; appending copies nothing that is there."""

    def __init__(self, capacity: int):
        self.length = 0
        self._capacity = capacity
        self._room: Keys | None = None  # allocated like the first rows that come

    def append(self, new: Keys) -> Keys:
        """Store `new` behind what is there; returns a view of everything stored."""
        if self._room is None:
            B, H, _, d = new.k.shape
            self._room = Keys(*(part.new_empty(B, H, self._capacity, d) for part in new))
        start, self.length = self.length, self.length + new.k.shape[2]
        self._room.k[:, :, start : self.length] = new.k
        self._room.v[:, :, start : self.length] = new.v
        return self.stored

    @property
    def stored(self) -> Keys:
        """A view of everything stored, where there is something."""
        return Keys(self._room.k[:, :, : self.length], self._room.v[:, :, : self.length])

    def cut(self, length: int) -> None:
        """Forget everything behind the first `length` rows."""
        self.length = length
