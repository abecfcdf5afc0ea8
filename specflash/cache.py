"""A key-value cache of constant length, for unpatched transformers models.

It knows no decoding loop: whoever runs the forward passes moves `position`.

Where it `reads_all`, attention runs over the whole buffer, and a mask hides what lies behind a row.
So the shapes of a pass, and with them the order in which the kernels sum, depend on the number of
rows alone. That is what makes the logits of verification equal those of vanilla decoding to the
last bit. Otherwise, and in the prefill, a pass reads no further than it has written, which is faster.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

BLOCK = 64
HEADROOM = 32
"""Entries beyond the longest answer: the widest pass (drafts or dummy rows) that may overhang it."""


def cache_length(prompt_length: int, max_new_tokens: int) -> int:
    """Entries the cache of a request gets: the same for every draft, so for every method."""
    needed = prompt_length + max_new_tokens + HEADROOM
    return -(-needed // BLOCK) * BLOCK


def causal_mask(length: int, device: torch.device | str = "cpu") -> Tensor:
    """[length, length] bool, True where the row may see the entry. A pass takes a view of it:

        mask[position : position + R][None, None]    [1, 1, R, length]
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


class FixedCache(Cache):
    """Keys and values of one request (B = 1) in buffers that are allocated once.

    layers  number of decoder layers
    length  entries of each buffer

    A forward pass of R rows writes entries position … position+R-1 of every layer and reads all
    `length`, or without `reads_all` the first position+R. Then the caller calls `advance(R)`. A
    rollback is `rewind(rows)`: nothing is copied or cleared, the stale entries stay hidden until they
    are written again.
    """

    layers: list["FixedLayer"]

    def __init__(self, layers: int, length: int):
        super().__init__(layers=[FixedLayer(length) for _ in range(layers)])
        self.length = length
        self._position = 0
        self._reads_all = True

    @property
    def position(self) -> int:
        """Entries that hold committed rows; the next pass writes here."""
        return self._position

    @position.setter
    def position(self, position: int) -> None:
        if not 0 <= position <= self.length:
            raise ValueError(f"position {position} lies outside a cache of {self.length} entries")
        self._position = position
        for layer in self.layers:
            layer.position = position

    @property
    def reads_all(self) -> bool:
        """Whether a pass reads the whole buffer, or only what is written when it has added its rows."""
        return self._reads_all

    @reads_all.setter
    def reads_all(self, reads_all: bool) -> None:
        self._reads_all = reads_all
        for layer in self.layers:
            layer.reads_all = reads_all

    @contextmanager
    def prefilling(self) -> Iterator[None]:
        """The passes inside read only what is written: without a mask, plain causal attention."""
        before, self.reads_all = self.reads_all, False
        try:
            yield
        finally:
            self.reads_all = before

    def advance(self, rows: int) -> None:
        """Count the rows of the last pass as held."""
        self.position += rows

    def rewind(self, rows: int) -> None:
        """Forget the last `rows` entries."""
        self.position -= rows

    def keep(self, rows: Sequence[int], last: int) -> None:
        """Of the `last` rows forget all but these, in their order; nothing moves where they are the first ones."""
        start = self._position - last
        moved = next((place for place, row in enumerate(rows) if place != row), len(rows))
        if moved < len(rows):
            for layer in self.layers:
                layer.move([start + row for row in rows[moved:]], start + moved)
        self.rewind(last - len(rows))


class FixedLayer(CacheLayerMixin):
    """One decoder layer's buffers [1, H, length, D/H], allocated at the first update."""

    is_sliding = False

    def __init__(self, length: int):
        super().__init__()
        self.length = length
        self.position = 0
        self.reads_all = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        # Zeros, not `empty`: a masked entry has weight 0, but 0 · NaN would still be NaN.
        self.keys = self._buffer(key_states)
        self.values = self._buffer(value_states)
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        """Write the rows [1, H, R, D/H] at `position`; return what is to be read."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.position + key_states.shape[-2]
        if end > self.length:
            raise ValueError(f"entry {end} lies outside a cache of {self.length} entries")
        self.keys[:, :, self.position:end] = key_states
        self.values[:, :, self.position:end] = value_states
        read = self._read(key_states.shape[-2])
        return self.keys[:, :, :read], self.values[:, :, :read]

    def move(self, entries: list[int], to: int) -> None:
        """Copy some entries, one behind the other, to `to` and the places behind it."""
        for buffer in (self.keys, self.values):
            buffer[:, :, to : to + len(entries)] = buffer[:, :, entries]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._read(query_length), 0

    def _read(self, rows: int) -> int:
        return self.length if self.reads_all else self.position + rows

    def get_seq_length(self) -> int:
        return self.position

    def get_max_length(self) -> int:
        return self.length

    def _buffer(self, states: Tensor) -> Tensor:
        batch, heads, _, size = states.shape
        return states.new_zeros(batch, heads, self.length, size)
