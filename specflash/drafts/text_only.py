"""A small language model that sees no picture, as a draft (arXiv 2404.08856, Fig. 1).

It knows no target family. It reads the tokens alone, visual positions left out, and drafts what
follows, one token after the other:

    tokens      x0  x1  v   v   v   x5  x6          x6 is pending
    places      0   1               2   3
    row of x6 -> slot 0, x7;  x7 is fed back -> slot 1, x8;  …

So the row of token x_{t+1} is slot 0 of base t. It stands for how far a draft gets on language
alone; what the others accept beyond it, they owe to the target's features.

Departures. The paper's draft is a language model of 115 M parameters trained on text at large; here
the blocks are trained from nothing on the answers of the feature store, by the recipe of all
drafts, towards the target's law (which has seen the picture). Embeddings and LM head are the
target's frozen ones. An RMSNorm brings the embeddings to the width's scale, another one the
output to that of the LM head's inputs.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from specflash.drafts.anchors import Anchors, find_anchors
from specflash.drafts.base import Draft, DraftConfig, LossParts, Session, join_chain
from specflash.drafts.blocks import Block, BlockShape, View, head_count
from specflash.drafts.keys import KeyBuffer
from specflash.drafts.layout import visual_mask
from specflash.drafts.loss import law_loss
from specflash.drafts.rotary import HeadDim, turn
from specflash.records import Batch, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling


class TextOnlyConfig(DraftConfig):
    """layers  transformer blocks
    heads   of `head_dim` each; 0 means width / head_dim
    inner   width of the feed-forward part; 0 means 4 · width
    """

    layers: int = Field(2, ge=1)
    heads: int = Field(0, ge=0)
    head_dim: HeadDim = 64
    inner: int = Field(0, ge=0)


class TextOnly(Draft):
    name = "text-only"
    Config: ClassVar[type[DraftConfig]] = TextOnlyConfig
    config: TextOnlyConfig

    def __init__(self, config: TextOnlyConfig, vocabulary_ids: Tensor | None = None):
        super().__init__(config, vocabulary_ids)
        D = config.width
        shape = BlockShape(D, head_count(D, config.heads, config.head_dim), config.head_dim,
                           config.inner or 4 * D, bias=False, input_norm=True, dropout=0.0)
        self.embedding_norm = nn.RMSNorm(D, eps=1e-6)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(config.layers))
        self.output_norm = nn.RMSNorm(D, eps=1e-6)

    @property
    def loss_slots(self) -> int:
        return 1 if self.training else self.config.k

    @property
    def dtype(self) -> torch.dtype:
        return self.output_norm.weight.dtype

    def loss(self, batch: Batch) -> LossParts:
        """Training: every token of an answer once. Evaluation: once per slot that may draft it.

        Slot i is judged behind the right tokens, as it is in decoding once they are accepted.
        """
        anchors = find_anchors(batch.answer_mask, self.loss_slots)
        return law_loss(self, batch, anchors, self.predict(batch, anchors))

    def predict(self, batch: Batch, anchors: Anchors) -> Tensor:
        """What each trained row gives the LM head [R, D].

        Fed the sample's own tokens, slot i of base t is the row of x_{t+1+i}: `anchors.target`.
        """
        L = batch.ids.shape[1]
        visual = visual_mask(batch.spans, L, batch.ids.device)                    # [B, L]
        order = visual.int().argsort(dim=1, stable=True)  # text first; padding stays behind it
        longest = int((~visual).sum(1).max())                                     # T
        rows = self.stream(batch.ids.gather(1, order[:, :longest]))               # [B, T, D]
        places = (~visual).cumsum(1) - 1                                          # [B, L]
        return rows[anchors.sample, places[anchors.sample, anchors.target]]

    def stream(self, ids: Tensor, buffers: list[KeyBuffer] | None = None) -> Tensor:
        """Tokens behind those whose keys are in `buffers` (one per block): ids [B, n] -> [B, n, D]"""
        x = self.embedding_norm(self.embed(ids, self.dtype))                      # [B, n, D]
        first = buffers[0].length if buffers else 0
        known = torch.arange(first + ids.shape[1], device=ids.device)             # [T]
        at = turn(known[first:], self.config.head_dim, self.dtype)                # [n, d]
        unseen = known > known[first:, None]                                      # [n, T]
        for number, block in enumerate(self.blocks):
            memory = block.keys(x, at)
            if buffers:
                memory = buffers[number].append(memory)
            x = block(x[:, :, None], at.pick((slice(None), None)), View(memory, unseen[None]))[:, :, 0]
        return self.output_norm(x)

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return TextOnlySession(self, prompt, token, capacity)


class TextOnlySession(Session):
    """Keys of every committed token, and the row of the pending one.

    Keys of drafted tokens lie behind them while a chain is drafted, and are forgotten with it.
    """

    def __init__(self, draft: TextOnly, prompt: Prompt, token: int, capacity: int):
        self._draft = draft
        self._buffers = [KeyBuffer(capacity) for _ in draft.blocks]
        text = prompt.ids[~visual_mask([prompt.spans], prompt.length, prompt.ids.device)]
        self._last = self._read(torch.cat([text, text.new_tensor([token])]))      # [1, D]

    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        committed = self._buffers[0].length
        chain = [self._draft.choose(self._last[: max(limit, 0)], sampling, chance)]
        for _ in range(min(limit, self._draft.config.k) - 1):
            chain.append(self._draft.choose(self._read(chain[-1].tokens), sampling, chance))
        for buffer in self._buffers:
            buffer.cut(committed)
        return join_chain(chain)

    def advance(self, ids: Tensor, features: Tensor) -> None:
        self._last = self._read(ids)

    def _read(self, ids: Tensor) -> Tensor:
        """Append tokens [n]; the last one's row [1, D]."""
        return self._draft.stream(ids[None], self._buffers)[0, -1:]
