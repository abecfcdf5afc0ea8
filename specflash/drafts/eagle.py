"""The EAGLE draft (arXiv 2401.15077), as a chain. It knows no target family.

Base t pairs (h_t, e(x_{t+1})); one linear layer fuses them, one Llama-style decoder layer (without
its first norm) predicts h_{t+1}, the frozen LM head turns that into x_{t+2}. To draft further, the
predicted feature and the drafted token's embedding are fed back: K tokens take K passes.

It sees all N visual positions of a picture. There x_{t+1} is the placeholder, and its embedding is
the placeholder's row of the table: a departure from EAGLE-EYE, which merges the projected picture
into the embeddings; stored features hold h only, and h_t of a visual position is the picture's.
"""

import itertools
from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from specflash.cache import HEADROOM
from specflash.drafts.anchors import Anchors, find_anchors
from specflash.drafts.base import Draft, DraftConfig, LossParts, Session, join_chain
from specflash.drafts.blocks import Block, BlockShape, View, head_count, initialise
from specflash.drafts.grow import propose_tree
from specflash.drafts.keys import KeyBuffer, Keys, join
from specflash.drafts.loss import draft_loss
from specflash.drafts.rotary import HeadDim, Turn, turn
from specflash.drafts.tree_config import TreeConfig
from specflash.records import Batch, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling


class EagleConfig(TreeConfig):
    """What EAGLE adds to the settings of drafts that may propose trees.

    heads       of `head_dim` each; 0 means width / head_dim
    inner       width of the feed-forward part; 0 means Llama's 8/3 of `width`, in steps of 256
    input_norm  RMSNorm on token embeddings and features before they are fused (SpecVLM's addition;
                embeddings are an order of magnitude smaller); False is the paper's form
    """

    heads: int = Field(0, ge=0)
    head_dim: HeadDim = 64
    inner: int = Field(0, ge=0)
    input_norm: bool = True


class EagleTreeConfig(EagleConfig):
    """EAGLE's settings for those who draft trees with its weights, which know no K."""

    k: int = Field(5, ge=1, lt=HEADROOM)
    nodes: int = Field(12, ge=1, lt=HEADROOM)

    decoding = EagleConfig.decoding | {"k"}


class Eagle(Draft):
    """Initialisation: see `Block`; the fusion starts as the identity on h, so that this draft, like
    SpecFLASH with its residual gate, starts from the guess h_{t+1} ≈ h_t (ViSpec does the same).
    """

    name = "eagle"
    Config: ClassVar[type[DraftConfig]] = EagleConfig
    layer_norm: ClassVar[bool] = False  # the decoder layer's first norm, which EAGLE leaves out
    layer: ClassVar[type[Block]] = Block
    config: EagleConfig

    def __init__(self, config: EagleConfig, vocabulary_ids: Tensor | None = None):
        super().__init__(config, vocabulary_ids)
        D = config.width
        self.fusion = nn.Linear(2 * D, D)
        self.fusion.apply(initialise)
        self.fusion.weight.data[:, D:] += torch.eye(D)
        norm = (lambda: nn.RMSNorm(D, eps=1e-6)) if config.input_norm else nn.Identity
        self.embedding_norm, self.feature_norm = norm(), norm()
        inner = config.inner or -(-8 * D // 3 // 256) * 256
        self.block = self.layer(BlockShape(D, head_count(D, config.heads, config.head_dim), config.head_dim,
                                           inner, bias=False, input_norm=self.layer_norm, dropout=0.0))

    @property
    def loss_slots(self) -> int:
        return 1 if self.training else self.config.k

    @property
    def dtype(self) -> torch.dtype:
        return self.block.feed_norm.weight.dtype

    def loss(self, batch: Batch) -> LossParts:
        """Training: one teacher-forced step. Evaluation: K steps, each fed the feature predicted
        by the one before, so that slot i is judged as it is in decoding.
        """
        anchors = find_anchors(batch.answer_mask, self.loss_slots)
        return draft_loss(self, batch, anchors, self.predict(batch, anchors))

    def predict(self, batch: Batch, anchors: Anchors) -> Tensor:
        """Drafted features of the trained rows [R, D]."""
        features = batch.inputs[:, :-1].to(self.dtype)                            # [B, T, D]
        x = self.fuse(batch.ids[:, 1:], features)
        places = torch.arange(x.shape[1], device=x.device)
        seen = View(self.block.keys(x, self._turn(places)), places > anchors.bases[..., None])
        row = x.gather(1, anchors.bases[..., None].expand(-1, -1, x.shape[-1]))   # [B, A, D]
        return self.chain(batch.ids, anchors, row, seen)

    def chain(self, ids: Tensor, anchors: Anchors, row: Tensor, seen: View) -> Tensor:
        """Slot after slot behind the rows [B, A, D] of the anchors, which see `seen`: the trained ones [R, D]."""
        own, drafted = [], []
        for i in range(anchors.valid.shape[-1]):
            at = self._turn((anchors.bases + i)[:, None, :, None])                # [B, 1, A, 1, d]
            if i:
                # The token drafted before; where it lies beyond the sample no row is trained.
                token = ids.gather(1, (anchors.bases + 1 + i).clamp(max=ids.shape[1] - 1))
                row = self.fuse(token, drafted[-1])
                own.append(self.block.keys(row[:, :, None], at))
            view = seen._replace(own=join(own)) if own else seen
            drafted.append(self.block(row[:, :, None], at, view)[:, :, 0])        # [B, A, D]
        return torch.stack(drafted, 2)[anchors.valid]

    def fuse(self, ids: Tensor, features: Tensor) -> Tensor:
        """ids [...] of x_{t+1} and features [..., D] of h_t -> [..., D]"""
        embeddings = self.embedding_norm(self.embed(ids, features.dtype))
        return self.fusion(torch.cat([embeddings, self.feature_norm(features)], -1))

    def step(self, x: Tensor, buffer: KeyBuffer) -> Tensor:
        """Rows x [1, n, D] behind those in `buffer`; the feature the last one predicts [1, D]."""
        at = self._turn(buffer.length + torch.arange(x.shape[1], device=x.device))
        return self.behind(x, at, buffer.append(self.block.keys(x, at)))

    def behind(self, x: Tensor, at: Turn, memory: Keys) -> Tensor:
        """The feature that the last of the rows x [1, n, D] predicts [1, D]; their keys are the last of `memory`."""
        last = x[:, -1:, None]                                                    # [1, 1, 1, D]
        return self.block(last, at.pick((slice(-1, None),)), View(memory))[0, 0]

    def branches(self, x: Tensor, memory: Keys, own: Keys | None, seen: Tensor, place: int) -> tuple[Tensor, Keys]:
        """The features that n drafted rows x [n, D] at position `place` predict [n, D].

        memory  keys of the committed bases
        own     keys of the drafted rows before these, or None
        seen    [n, J] bool, which of the J drafted rows, these last, each one may see
        Returns the keys of all J rows as well.
        """
        x = x[None, None]                                                         # [1, 1, n, D]
        at = self._turn(torch.full((x.shape[2],), place, device=x.device))
        keys = self.block.keys(x, at)                                             # [1, H, 1, n, d]
        own = keys if own is None else join([own, keys])
        return self.block(x, at, View(memory, own=own, own_unseen=~seen))[0, 0], own

    def _turn(self, positions: Tensor) -> Turn:
        return turn(positions, self.config.head_dim, self.dtype)

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return EagleSession(self, prompt, output, token, capacity)


class EagleSession(Session):
    """Keys of every committed base, made from true features, and the next feature they predict.

    Keys of drafted rows lie behind them while a chain is drafted, and are forgotten with it.
    """

    def __init__(self, draft: Eagle, prompt: Prompt, output: Output, token: int, capacity: int):
        self._draft, self._buffer = draft, KeyBuffer(capacity)
        self.advance(F.pad(prompt.ids[0, 1:], (0, 1), value=token), output.features[0])

    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        if self._draft.config.nodes and limit > 0:
            return self._tree(min(limit, self._draft.config.k), sampling, chance)
        feature, committed = self._predicted, self._buffer.length
        chain = [self._draft.choose(feature[: max(limit, 0)], sampling, chance)]
        for _ in range(min(limit, self._draft.config.k) - 1):
            feature = self._draft.step(self._draft.fuse(chain[-1].tokens, feature)[None], self._buffer)
            chain.append(self._draft.choose(feature, sampling, chance))
        self._buffer.cut(committed)
        return join_chain(chain)

    def _tree(self, depth: int, sampling: Sampling, chance: Chance) -> Proposal:
        """Each node is fed the feature that was predicted for it and its own token, and sees its own path."""
        draft, first = self._draft, self._predicted                               # [1, D]
        features, own = first, None
        seen = torch.zeros(1, 0, dtype=torch.bool, device=first.device)
        places = itertools.count(self._buffer.length)

        def expand(parents: Tensor, columns: Tensor) -> Tensor:
            nonlocal features, own, seen
            itself = torch.eye(len(parents), dtype=torch.bool, device=first.device)
            seen = torch.cat([seen[parents], itself], 1)                          # [n, J]
            x = draft.fuse(draft.target_ids(columns), features[parents])
            features, own = draft.branches(x, self._buffer.stored, own, seen, next(places))
            return draft.draft_logits(features)

        return propose_tree(draft, draft.draft_logits(first), expand, depth, sampling, chance)

    def advance(self, ids: Tensor, features: Tensor) -> None:
        x = self._draft.fuse(ids, features.to(self._draft.dtype))                 # [n, D]
        self._predicted = self._draft.step(x[None], self._buffer)
