"""One key-value cache for several requests that decode together, one token each per pass.

It knows no decoding loop and no model. `specflash.cache` is the cache of a single request, whose
shapes never change; here a pass only reads as far as somebody has written, since nobody compares
its logits bit by bit.
"""

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from specflash.cache import FixedLayer


class SharedCache:
    """Keys and values of some requests, allocated once.

    layers    number of decoder layers
    requests  how many at most; each has a slot
    length    entries of each slot
    """

    def __init__(self, layers: int, requests: int, length: int):
        self.length = length
        self._buffers = [_Buffers(requests, length) for _ in range(layers)]

    def one(self, slot: int, position: int) -> Cache:
        """For a pass of R rows of one request, [1, R, D]: it writes entries position … position+R-1
        and reads all up to there. Without a mask at position 0 that is plain causal attention."""
        return Cache(layers=[_OneRequest(buffers, slot, position) for buffers in self._buffers])

    def together(self, positions: Tensor) -> Cache:
        """For a pass of one row of each of the first n slots, [n, 1, D]: slot i writes entry positions[i].

        positions  [n] int64
        """
        seen, slots = int(positions.max()) + 1, torch.arange(len(positions), device=positions.device)
        return Cache(layers=[_Together(buffers, (slots, positions), seen) for buffers in self._buffers])

    def move(self, source: int, slot: int, held: int) -> None:
        """Put the first `held` entries of slot `source` into `slot`."""
        for buffers in self._buffers:
            buffers.keys[slot, :, :held] = buffers.keys[source, :, :held]
            buffers.values[slot, :, :held] = buffers.values[source, :, :held]


def together_mask(positions: Tensor) -> Tensor:
    """The mask of a pass over `SharedCache.together`: [n, 1, 1, T] bool, T the furthest entry + 1."""
    entries = torch.arange(int(positions.max()) + 1, device=positions.device)
    return (entries <= positions[:, None])[:, None, None]


class _Buffers:
    """One decoder layer: keys and values [B, H, length, D/H], allocated at the first pass."""

    def __init__(self, requests: int, length: int):
        self.requests, self.length = requests, length
        self.keys = self.values = torch.empty(0)

    def allocate(self, states: Tensor) -> None:
        if self.keys.numel() == 0:
            shape = (self.requests, states.shape[1], self.length, states.shape[3])
            # Zeros, not `empty`: a masked entry has weight 0, but 0 · NaN would still be NaN.
            self.keys, self.values = states.new_zeros(shape), states.new_zeros(shape)


class _OneRequest(FixedLayer):
    """One slot of a layer's buffers, as the layer of a cache of its own that is still being filled."""

    def __init__(self, buffers: _Buffers, slot: int, position: int):
        super().__init__(buffers.length)
        self.buffers, self.slot = buffers, slot
        self.position, self.reads_all = position, False

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.buffers.allocate(key_states)
        self.keys, self.values = self.buffers.keys[self.slot, None], self.buffers.values[self.slot, None]
        self.is_initialized = True


class _Together(CacheLayerMixin):
    """The first n slots of a layer's buffers, each as far as the furthest has written.

    places  (slots, entries) that the pass writes, [n] each
    seen    entries that it reads
    """

    is_sliding = False

    def __init__(self, buffers: _Buffers, places: tuple[Tensor, Tensor], seen: int):
        super().__init__()
        self.buffers, self.places, self.seen = buffers, places, seen

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing: each request has passed alone before."""

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        """Write one row of each request [n, H, 1, D/H]; return [n, H, seen, D/H]."""
        buffers, (slots, entries) = self.buffers, self.places
        buffers.keys[slots, :, entries] = key_states[:, :, 0]
        buffers.values[slots, :, entries] = value_states[:, :, 0]
        return buffers.keys[: len(slots), :, : self.seen], buffers.values[: len(slots), :, : self.seen]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.seen, 0

    def get_seq_length(self) -> int:
        return self.seen

    def get_max_length(self) -> int:
        return self.buffers.length
