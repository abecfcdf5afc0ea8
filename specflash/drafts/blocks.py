"""Transformer parts shared by the drafts. They know no draft, no target and no loss.

Rows come in blocks [B, A, K, D]: block a stands at one base and holds K rows of its own. A row
sees the remembered bases up to its block's, and rows of its own block, but no other block's rows.

    d  width of a head     T  remembered bases
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specflash.drafts.keys import Keys
from specflash.drafts.rotary import Turn, rotate


class View(NamedTuple):
    """What the rows of one pass may see.

    memory     [B, H, T, d]     keys of the bases
    unseen     [B, A, T] bool   bases that a block may not see, or None
    own        [B, H, A, J, d]  keys of each block's own rows, or None
    own_unseen [K, J] bool      own rows that a row may not see, or None
    log_weight [B, T]           a base counts this much among the others (a key's share of the softmax is
                                weight · exp(score)), or None
    """

    memory: Keys
    unseen: Tensor | None = None
    own: Keys | None = None
    own_unseen: Tensor | None = None
    log_weight: Tensor | None = None


@dataclass(frozen=True)
class BlockShape:
    """Sizes and options of one block; `inner` is the width of the feed-forward part."""

    width: int
    heads: int
    head_dim: int
    inner: int
    bias: bool
    input_norm: bool
    dropout: float


def head_count(width: int, heads: int, head_dim: int) -> int:
    """`heads` as a setting: 0 means as many of `head_dim` as make up `width`."""
    return heads or max(1, width // head_dim)


class Attention(nn.Module):
    """Multi-head attention whose queries see bases and their own block under one softmax."""

    def __init__(self, shape: BlockShape):
        super().__init__()
        self.heads, self.head_dim = shape.heads, shape.head_dim
        wide = shape.heads * shape.head_dim
        self.q, self.k, self.v = (nn.Linear(shape.width, wide, bias=shape.bias) for _ in range(3))
        self.o = nn.Linear(wide, shape.width, bias=shape.bias)

    def _split(self, x: Tensor) -> Tensor:
        """[B, ..., H·d] -> [B, H, ..., d]"""
        return x.unflatten(-1, (self.heads, self.head_dim)).movedim(-2, 1)

    def keys(self, x: Tensor, at: Turn) -> Keys:
        """x [B, ..., D], rotation that broadcasts to [B, H, ..., d] -> Keys [B, H, ..., d]"""
        return Keys(rotate(self._split(self.k(x)), at), self._split(self.v(x)))

    def forward(self, x: Tensor, at: Turn, view: View) -> Tensor:
        """x [B, A, K, D] -> [B, A, K, D]"""
        q = rotate(self._split(self.q(x)), at) * self.head_dim ** -0.5            # [B, H, A, K, d]
        A, K = q.shape[2:4]
        scores = (q.flatten(2, 3) @ view.memory.k.mT).unflatten(2, (A, K))        # [B, H, A, K, T]
        if view.log_weight is not None:
            scores = scores + view.log_weight[:, None, None, None].to(scores.dtype)
        if view.unseen is not None:
            scores = scores.masked_fill(view.unseen[:, None, :, None], -torch.inf)
        T = scores.shape[-1]
        if view.own is not None:
            own = q @ view.own.k.mT                                               # [B, H, A, K, J]
            if view.own_unseen is not None:
                own = own.masked_fill(view.own_unseen, -torch.inf)
            scores = torch.cat([scores, own], -1)
        weights = scores.softmax(-1, dtype=torch.float32).to(q.dtype)             # [B, H, A, K, T+J]
        seen = (weights[..., :T].flatten(2, 3) @ view.memory.v).unflatten(2, (A, K))
        if view.own is not None:
            seen = seen + weights[..., T:] @ view.own.v                           # [B, H, A, K, d]
        return self.o(seen.movedim(1, -2).flatten(-2))


class SwiGLU(nn.Module):
    """down(SiLU(gate(x)) ⊙ up(x)), without biases (arXiv 2002.05202)."""

    def __init__(self, width: int, inner: int):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """One pre-norm transformer block over blocks of rows.

    `initialise`: linear layers N(0, 0.02²), the two that write into the residual stream smaller
    by √2, as in GPT-2: the stream starts as its input plus a little.
    """

    def __init__(self, shape: BlockShape):
        super().__init__()
        self.attention_norm = nn.RMSNorm(shape.width, eps=1e-6) if shape.input_norm else nn.Identity()
        self.attention = Attention(shape)
        self.feed_norm = nn.RMSNorm(shape.width, eps=1e-6)
        self.feed = SwiGLU(shape.width, shape.inner)
        self.dropout = nn.Dropout(shape.dropout)
        self.apply(initialise)
        for last in (self.attention.o, self.feed.down):
            nn.init.normal_(last.weight, std=0.02 / 2 ** 0.5)

    def keys(self, x: Tensor, at: Turn) -> Keys:
        """Keys of rows x [B, ..., D] at rotation `at` [(B, 1,) ..., d]."""
        return self.attention.keys(self.attention_norm(x), at)

    def forward(self, x: Tensor, at: Turn, view: View, keep: Tensor | None = None) -> Tensor:
        """x [B, A, K, D] -> [B, A, K, D]; or [R, D], the rows of `keep` [B, A, K] only."""
        x = self.attend(x, at, view)
        if keep is not None:
            x = x[keep]
        return x + self.dropout(self.feed(self.feed_norm(x)))

    def attend(self, x: Tensor, at: Turn, view: View) -> Tensor:
        """The block's first half: [B, A, K, D] -> [B, A, K, D]"""
        return x + self.dropout(self.attention(self.attention_norm(x), at, view))


def initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
