"""One key-value cache for several requests that decode together, one token each per pass.

It knows no decoding loop and no model. `specflash.cache` is the cache of a single request, whose
shapes never change; here a pass only reads as far as somebody has written, since nobody compares
its logits bit by bit.
"""

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


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
        seen = int(positions.max()) + 1
        return Cache(layers=[_Together(buffers, positions, seen) for buffers in self._buffers])

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


class _SharedLayer(CacheLayerMixin):
    """What transformers asks of a layer, on buffers that others use too.

    seen  entries that the pass reads
    """

    is_sliding = False

    def __init__(self, buffers: _Buffers, seen: int):
        super().__init__()
        self.buffers, self.seen = buffers, seen

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.buffers.allocate(key_states)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.seen, 0

    def get_seq_length(self) -> int:
        return self.seen

    def get_max_length(self) -> int:
        return self.buffers.length


class _OneRequest(_SharedLayer):
    def __init__(self, buffers: _Buffers, slot: int, position: int):
        super().__init__(buffers, position)
        self.slot, self.position = slot, position

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.position + query_length, 0

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        """Write the rows [1, H, R, D/H]; return what this request holds, [1, H, position + R, D/H]."""
        buffers, end = self.buffers, self.position + key_states.shape[2]
        if end > buffers.length:
            raise ValueError(f"entry {end} lies outside a cache of {buffers.length} entries")
        buffers.allocate(key_states)
        keys, values = buffers.keys[self.slot, None], buffers.values[self.slot, None]
        keys[:, :, self.position:end] = key_states
        values[:, :, self.position:end] = value_states
        return keys[:, :, :end], values[:, :, :end]


class _Together(_SharedLayer):
    def __init__(self, buffers: _Buffers, positions: Tensor, seen: int):
        super().__init__(buffers, seen)
        self.positions = positions

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        """Write one row of each request [n, H, 1, D/H]; return [n, H, seen, D/H]."""
        buffers, slots = self.buffers, torch.arange(len(self.positions), device=self.positions.device)
        buffers.keys[slots, :, self.positions] = key_states[:, :, 0]
        buffers.values[slots, :, self.positions] = value_states[:, :, 0]
        return buffers.keys[: len(slots), :, : self.seen], buffers.values[: len(slots), :, : self.seen]
