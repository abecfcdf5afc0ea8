"""The semi-autoregressive head: K drafted features of a base in one pass. It knows no token.

Slot i of base t is the row x_t + s_i at rotary position t + i; it may see

                     slot 0 of base        slots of base t
                  0   1  …  t-1  t          1 … i        i+1 … K-1
    (t, i)        x   x  x   x   x          x   x            .

and no other base's slots. So slot 0 of all bases is an ordinary causal stream, the only thing to
cache in decoding: it comes from true features alone, and a rejection leaves nothing to roll back.
The output plus g_i · h_t regresses to h_{t+1+i}.
"""

import torch
from torch import Tensor, nn

from specflash.drafts.blocks import Block, BlockShape, View
from specflash.drafts.keys import KeyBuffer
from specflash.drafts.rotary import Turn, turn


class SlotHead(nn.Module):
    """slots K, layers: transformer blocks of `shape`.

    Initialisation: g = 1 and everything that is added to h_t small (see `Block`), so that the
    first guess of h_{t+1+i} is near h_t. Short trainings profit most from such a start.
    """

    def __init__(self, slots: int, layers: int, shape: BlockShape):
        super().__init__()
        self.head_dim = shape.head_dim
        offsets = torch.zeros(slots, shape.width)
        nn.init.normal_(offsets[1:], std=0.02)
        self.offsets = nn.Parameter(offsets)                                      # s [K, D]
        self.residual = nn.Parameter(torch.ones(slots))                           # g [K]
        self.blocks = nn.ModuleList(Block(shape) for _ in range(layers))

    def new_buffers(self, capacity: int) -> list[KeyBuffer]:
        return [KeyBuffer(capacity) for _ in self.blocks]

    def forward(self, x: Tensor, at: Tensor, keep: Tensor | None = None,
                buffers: list[KeyBuffer] | None = None) -> Tensor:
        """All slots of some bases, before the residual gate.

        x        [B, T, D]     bases, behind those whose keys are in `buffers` (one per block)
        at       [B, A]        which of the T bases to draft from
        keep     [B, A, K]     which rows to finish; None: all
        Returns [R, D] (kept rows) or [B, A, K, D].
        """
        first = buffers[0].length if buffers else 0
        base = first + torch.arange(x.shape[1], device=x.device)                  # [T]
        slot = torch.arange(len(self.offsets), device=x.device)                   # [K]
        on_bases, on_slots = self._turns(base, at[..., None] + first + slot, x.dtype)
        known = torch.arange(first + x.shape[1], device=x.device)
        unseen, later = known > (at + first)[..., None], slot[1:] > slot[:, None]
        z = x.gather(1, at[..., None].expand(-1, -1, x.shape[-1]))[:, :, None] + self.offsets
        x = x + self.offsets[0]  # slot 0 of every base
        for n, block in enumerate(self.blocks):
            memory = block.keys(x, on_bases)
            if buffers:
                memory = buffers[n].append(memory)
            own = block.keys(z[:, :, 1:], on_slots.pick((..., slice(1, None), slice(None))))
            last = n == len(self.blocks) - 1
            z = block(z, on_slots, View(memory, unseen, own, later), keep if last else None)
            if not last:  # the next block remembers slot 0 of every base
                causal = View(memory, (known > base[:, None])[None])
                x = block(x[:, :, None], on_bases.pick((slice(None), None)), causal)[:, :, 0]
        return z

    def _turns(self, base: Tensor, slots: Tensor, dtype: torch.dtype) -> tuple[Turn, Turn]:
        """Rotations at the bases [T, d] and at the slots' positions [B, 1, A, K, d]."""
        return turn(base, self.head_dim, dtype), turn(slots[:, None], self.head_dim, dtype)

    def gate(self, rows: Tensor, slot: Tensor, features: Tensor) -> Tensor:
        """rows [n, D] of slots [n] plus g_i · h_t of each row's base [n, D], trained or decoding."""
        return rows + self.residual[slot, None] * features
