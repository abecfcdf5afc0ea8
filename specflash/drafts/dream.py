"""The DREAM draft (arXiv 2505.19201): EAGLE that looks into the target. It knows no target family.

EAGLE's one layer, with a second attention between its two halves, to the hidden states g of an inner decoder
layer of the target. A gate lets it in, and starts shut: the draft starts as EAGLE.

    row t     x   = fuse(e(x_{t+1}), h_t)
              x'  = x  + attention(x; rows before, and those drafted)
              x'' = x' + tanh(a) · attention(norm(x'); g_0 … g_t)          a = 0 at the start
              ĥ_{t+1} = x'' + feed(norm(x''))

    base t              0   1   2   3   4   5 | 6   7        a picture at 1 … 4, of which C = 2 latents are made
    rows' keys          0     2    4        5 | 6   7
    g's keys            0     2    4        5 |              drafted rows (6, 7) have no g: the target has not seen them

Pictures are compressed alike in h and in g: each is averaged over equal parts (experts.Pool), so a key of one and
of the other speak about the same part, and both memories have N / `pool` rows of a picture instead of N.

Which layer is chosen where features are made (flashbench's dump): the one whose attention has the lowest mean
entropy, as in the paper. It is one layer for all samples, as decoding can ask for one only.

Departures. The released code has three layers (embeddings alone through one, the gated attention with a
feed-forward of its own, a third one) and no fusion; ours keeps EAGLE's single layer, so that what the target's
inside is worth can be read off beside `eagle2` and `specvlm`. Keys of g are turned by their place, as all keys here
are. The paper draws a layer anew for each batch, and regresses to its features besides; the loss here is that of all
drafts. Its visual tokens are picked by importance; means need no second look at the target's attention. Its tree is
EAGLE-2's: `nodes` asks for it.
"""

from typing import ClassVar, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from specflash.drafts.base import DraftConfig, Session
from specflash.drafts.blocks import Attention, Block, BlockShape, View, initialise
from specflash.drafts.eagle import EagleConfig
from specflash.drafts.elastic import ElasticConfig
from specflash.drafts.keys import KeyBuffer, Keys
from specflash.drafts.rotary import Turn
from specflash.drafts.specvlm import Rows, SpecVlm, SpecVlmSession
from specflash.records import Batch, Output, Prompt, parted


class DreamConfig(EagleConfig):
    """inner_layer  of the target, whose hidden states the draft sees; null: the one that the features were made with
    pool         N / C of pictures
    """

    inner_layer: int | None = Field(None, ge=0)
    pool: int = Field(9, ge=1)

    given = EagleConfig.given | {"inner_layer"}


class DeepKeys(NamedTuple):
    """Keys of rows, and behind them those of the target's inner states of the committed ones."""

    k: Tensor
    v: Tensor
    deep: Keys


class DeepBuffer(KeyBuffer):
    """Keys of rows, committed and drafted, and beside them the keys of inner states, which drafted rows lack."""

    def __init__(self, capacity: int):
        super().__init__(capacity)
        self._deep = KeyBuffer(capacity)

    def append(self, new: Keys | DeepKeys) -> DeepKeys:
        if isinstance(new, DeepKeys):
            self._deep.append(new.deep)
        super().append(Keys(new.k, new.v))
        return self.stored

    @property
    def stored(self) -> DeepKeys:
        return DeepKeys(*super().stored, self._deep.stored)


class DeepBlock(Block):
    """A decoder layer with gated attention to the target's inner states between its two halves."""

    def __init__(self, shape: BlockShape):
        super().__init__(shape)
        self.inner_norm, self.query_norm = (nn.RMSNorm(shape.width, eps=1e-6) for _ in range(2))
        self.deep = Attention(shape).apply(initialise)
        self.gate = nn.Parameter(torch.zeros(1))

    def deep_keys(self, inner: Tensor, at: Turn) -> Keys:
        """Keys of inner states [B, ..., D] at rotation `at`."""
        return self.deep.keys(self.inner_norm(inner), at)

    def attend(self, x: Tensor, at: Turn, view: View) -> Tensor:
        x = super().attend(x, at, view)
        inside = view._replace(memory=view.memory.deep, own=None, own_unseen=None)
        return x + self.gate.tanh() * self.deep(self.query_norm(x), at, inside)


class Dream(SpecVlm):
    name = "dream"
    Config: ClassVar[type[DraftConfig]] = DreamConfig
    layer_norm: ClassVar[bool] = False
    layer: ClassVar[type[Block]] = DeepBlock
    config: DreamConfig
    block: DeepBlock

    @property
    def inner_layer(self) -> int | None:
        return self.config.inner_layer

    @property
    def compression(self) -> ElasticConfig:
        return ElasticConfig(prune=0, pool=self.config.pool, conv=0, queries=0, no_image=False, fusion="concat")

    def seen(self, batch: Batch) -> Tensor:
        """Features, and behind them the inner states [B, L, 2D]; noise reaches the former only."""
        return torch.cat([batch.inputs, batch.inner.to(batch.inputs.dtype)], -1)

    def fused(self, rows: Rows) -> Tensor:
        return self.fuse(rows.ids, rows.features[..., : self.config.width])

    def keys(self, rows: Rows, x: Tensor, shift: int = 0) -> DeepKeys:
        at = self._turn(rows.places[:, None] + shift)
        return DeepKeys(*self.block.keys(x, at), self.block.deep_keys(rows.features[..., self.config.width :], at))

    def commit(self, x: Tensor, inner: Tensor, buffer: DeepBuffer) -> Tensor:
        """`step` for rows whose inner states [1, n, D] are known."""
        at = self._turn(buffer.length + torch.arange(x.shape[1], device=x.device))
        keys = DeepKeys(*self.block.keys(x, at), self.block.deep_keys(inner, at))
        return self.behind(x, at, buffer.append(keys))

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return DreamSession(self, prompt, output, token, capacity)


class DreamSession(SpecVlmSession):
    """A compressed prompt, and committed bases whose inner states are remembered beside them."""

    buffer = DeepBuffer

    def advance(self, ids: Tensor, features: Tensor) -> None:
        """features  [n, 2D]"""
        draft = self._draft
        features, inner = parted(features.to(draft.dtype), draft.config.width)
        self._predicted = draft.commit(draft.fuse(ids, features)[None], inner[None], self._buffer)
