"""The SpecVLM draft (arXiv 2509.11815): EagleVLM on compressed pictures. It knows no target family.

One sample, a picture of N = 4 tokens between text, of which an expert makes C = 2 latents:

    base t      0   1   2   3   4   5   6   7
    kind        t   t   v   v   v   v   q   q        q: text of the question, which sets the gate
    row at      0   1       3       5   6   7

A latent is a row like any other, fused with the placeholder's embedding. It stands (in rotary position)
where the part of the picture stood that it speaks about, so text stands where it does in EagleVLM, with
any expert and with none. Text rows come first in memory, latents behind them: order there means nothing.

The gate hears the mean of the target's features over the question: text behind the first picture and
before the first answer. It is the same in training, in decoding and in later turns of a conversation
(where it is still the first question, as pictures stand before it). Noise never reaches it.

Departures. Pruning is even, not random (experts.py). The loss is that of all drafts here; the paper's
target in the training loop is a choice of the trainer (`train.features: online`). The paper says of the
gate only that the question sets it: here it is a norm and a linear layer on that mean.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from specflash.drafts.anchors import Anchors
from specflash.drafts.base import DraftConfig, Session
from specflash.drafts.blocks import BlockShape, View, head_count
from specflash.drafts.eagle import EagleSession
from specflash.drafts.eagle_vlm import EagleVlm, EagleVlmConfig
from specflash.drafts.elastic import ElasticCompressor, ElasticConfig
from specflash.drafts.experts import evenly
from specflash.drafts.keys import KeyBuffer, Keys
from specflash.drafts.layout import visual_mask
from specflash.records import Batch, Output, Prompt, Span


class SpecVlmConfig(ElasticConfig, EagleVlmConfig):
    """EagleVLM's settings and the compressor's."""


class Rows(NamedTuple):
    """What a draft remembers of B samples, text and latents.

    ids         [B, R] int64  the token a row is fused with; 0 at padding
    features    [B, R, D]     what it is fused with; 0 at padding
    places      [B, R] int64  the base a row stands at; T (behind all of them) at padding
    log_weight  [B, R]        0 at text
    """

    ids: Tensor
    features: Tensor
    places: Tensor
    log_weight: Tensor


class SpecVlm(EagleVlm):
    name = "specvlm"
    Config: ClassVar[type[DraftConfig]] = SpecVlmConfig
    config: SpecVlmConfig

    def __init__(self, config: SpecVlmConfig, vocabulary_ids: Tensor | None = None):
        super().__init__(config, vocabulary_ids)
        D = config.width
        self.compressor = ElasticCompressor(self.compression, BlockShape(
            D, head_count(D, config.heads, config.head_dim), config.head_dim, inner=0, bias=False, input_norm=False,
            dropout=0.0))

    @property
    def compression(self) -> ElasticConfig:
        """How pictures are compressed."""
        return self.config

    def predict(self, batch: Batch, anchors: Anchors) -> Tensor:
        """Drafted features of the trained rows [R, D]."""
        weights = self.weigh(batch.features, batch.answer_mask, batch.spans)      # [B, E]
        rows = self.rows(batch.ids, self.seen(batch), batch.spans, weights)
        x = self.fused(rows)                                                      # [B, R, D]
        unseen = rows.places[:, None] > anchors.bases[..., None]                  # [B, A, R]
        text = (~visual_mask(batch.spans, batch.ids.shape[1], batch.ids.device)).cumsum(1) - 1
        at = text.gather(1, anchors.bases).clamp(min=0)                           # [B, A]
        row = x.gather(1, at[..., None].expand(-1, -1, x.shape[-1]))              # [B, A, D]
        return self.chain(batch.ids, anchors, row, View(self.keys(rows, x), unseen, log_weight=rows.log_weight))

    def seen(self, batch: Batch) -> Tensor:
        """What the draft is fed of the target [B, L, W]"""
        return batch.inputs

    def fused(self, rows: Rows) -> Tensor:
        """[B, R, D]"""
        return self.fuse(rows.ids, rows.features)

    def weigh(self, features: Tensor, answer_mask: Tensor, spans: Sequence[Sequence[Span]]) -> Tensor:
        """Log-weights [B, E] of the experts, from true features [B, L, D]."""
        asked = question_mask(answer_mask, spans)                                 # [B, L]
        heard = (features.float() * asked[..., None]).sum(1) / asked.sum(1, keepdim=True).clamp(min=1)
        return self.compressor.weigh(heard.to(self.dtype))

    def rows(self, ids: Tensor, features: Tensor, spans: Sequence[Sequence[Span]], weights: Tensor) -> Rows:
        """The rows of bases 0 … L-2, from ids [B, L] and features [B, L, W]."""
        features = features[:, :-1].to(self.dtype)                                # [B, T, W]
        parts = [self._text(ids, features, spans), *self._pictures(ids, features, spans, weights)]
        return Rows(*(torch.cat(field, 1) for field in zip(*parts, strict=True)))

    def _text(self, ids: Tensor, features: Tensor, spans: Sequence[Sequence[Span]]) -> Rows:
        T = features.shape[1]
        visual = visual_mask(spans, T, ids.device)                                # [B, T]
        order = visual.int().argsort(dim=1, stable=True)[:, : int((~visual).sum(1).max())]
        there = features.gather(1, order[..., None].expand(-1, -1, features.shape[-1]))
        places = order.masked_fill(visual.gather(1, order), T)
        return Rows(ids.gather(1, order + 1), there, places, torch.zeros(order.shape, device=ids.device))

    def _pictures(self, ids: Tensor, features: Tensor, spans: Sequence[Sequence[Span]],
                  weights: Tensor) -> list[Rows]:
        """Latents of pictures, those of one size and one expert together."""
        rows = []
        for size, pictures in self._by_size(spans).items():
            owner, start = torch.tensor(pictures, device=ids.device).reshape(-1, 2).long().T.contiguous()
            inside = torch.arange(size, device=ids.device)
            seen = features[owner[:, None], start[:, None] + inside]              # [S, N, W]
            for latents, log_weight in self.compressor(seen, weights[owner]):
                C = latents.shape[1]
                own = ids[owner, start][:, None].expand(-1, C)                    # [S, C]
                places = start[:, None] + evenly(size, C, ids.device)             # [S, C]
                rows.append(spread(Rows(own, latents, places, log_weight[:, None].expand(-1, C)), owner, features))
        return rows

    def _by_size(self, spans: Sequence[Sequence[Span]]) -> dict[int, list[tuple[int, int]]]:
        """(sample, start) of pictures by their number of tokens N."""
        # An empty group gives every expert a gradient, of 0, where no sample has a picture: workers
        # that average gradients must agree on what there is.
        sizes: dict[int, list[tuple[int, int]]] = {} if any(spans) or not self.training else {1: []}
        for sample, own in enumerate(spans):
            for start, length in own:
                sizes.setdefault(length, []).append((sample, start))
        return sizes

    def keys(self, rows: Rows, x: Tensor, shift: int = 0) -> Keys:
        """Keys of rows, fused x [B, R, D], that stand `shift` behind their places; only distances matter."""
        return self.block.keys(x, self._turn(rows.places[:, None] + shift))

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return SpecVlmSession(self, prompt, output, token, capacity)


def question_mask(answer_mask: Tensor, spans: Sequence[Sequence[Span]]) -> Tensor:
    """True at the text behind the first picture and before the first answer: [B, L] bool"""
    L, device = answer_mask.shape[1], answer_mask.device
    first = torch.tensor([own[0][0] if own else 0 for own in spans], device=device)
    unanswered = answer_mask.cumsum(1) == 0
    return unanswered & ~visual_mask(spans, L, device) & (torch.arange(L, device=device) >= first[:, None])


def spread(rows: Rows, owner: Tensor, features: Tensor) -> Rows:
    """Rows of S pictures [S, C, …] with their samples [S], ascending, to rows of B samples [B, R, …]."""
    (B, T), C = features.shape[:2], rows.ids.shape[1]
    number = torch.arange(len(owner), device=owner.device) - torch.searchsorted(owner, owner)  # within the sample
    most = int(number.max()) + 1 if len(owner) else 1

    def put(values: Tensor, padding: float) -> Tensor:
        empty = values.new_full((B, most, C, *values.shape[2:]), padding)
        return empty.index_put((owner, number), values).flatten(1, 2)

    return Rows(put(rows.ids, 0), put(rows.features, 0), put(rows.places, T), put(rows.log_weight, 0))


class SpecVlmSession(EagleSession):
    """An EAGLE session whose prompt is compressed: what the gate did not choose is not in it."""

    buffer: ClassVar[type[KeyBuffer]] = KeyBuffer

    def __init__(self, draft: SpecVlm, prompt: Prompt, output: Output, token: int, capacity: int):
        self._draft = draft
        weights = draft.weigh(output.features, prompt.answer_mask, [prompt.spans])
        rows = draft.rows(prompt.ids, output.rows, [prompt.spans], weights)
        # The next base stands right behind what is in the buffer.
        shift = rows.ids.shape[1] - (prompt.length - 1)
        self._buffer = self.buffer(capacity + shift)
        self._buffer.append(draft.keys(rows, draft.fused(rows), shift))
        self.advance(prompt.ids.new_tensor([token]), output.rows[0, -1:])
