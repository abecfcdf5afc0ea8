"""The SpecFLASH draft: compressed pictures, and K tokens per pass. It knows no target family.

The sequence that is drafted from, one row per base t (`h` = h_t, `e` = e(x_{t+1})):

    text before the pictures   h, or fused like the rest with `fuse_prefix`
    each picture               C latents in place of its N features (compressor.py, layout.py)
    all other text             SiLU(W_g [e; h] + b_g) ⊙ (W_u [e; h] + b_u)

What happens to it is in slots.py; the slots' outputs then hear of each other in refine.py.
"""

from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from specflash.drafts.anchors import Anchors, find_anchors, thin
from specflash.drafts.base import Draft, DraftConfig, LossParts, Session, join_chain
from specflash.drafts.blocks import BlockShape, head_count, initialise
from specflash.drafts.compressor import Compressor
from specflash.drafts.grow import on_every_path, propose_tree
from specflash.drafts.layout import Layout, lay_out
from specflash.drafts.loss import CHUNK, draft_loss
from specflash.drafts.own_words import share_at, toss
from specflash.drafts.refine import Refiner
from specflash.drafts.rotary import HeadDim
from specflash.drafts.slots import SlotHead
from specflash.drafts.tree_config import TreeConfig
from specflash.records import Batch, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling

OPEN = 1.278  # SiLU(OPEN) = 1


class SpecFlashConfig(TreeConfig):
    """What SpecFLASH adds to the settings of drafts that may propose trees.

    latents      C, what every picture is compressed to
    layers       transformer blocks
    heads        of `head_dim` each; 0 means width / head_dim
    input_norm   RMSNorm on token embeddings, features and latents, as SpecVLM does for EAGLE;
                 False is the paper's form
    slot_keep    a training step looks at this share of slot 1's rows, its square of slot 2's, …
                 (`anchors.thin`); 1 is the paper's form
    fuse_prefix  fuse the text before the pictures too; False is the paper's form
    refine       later slots hear which tokens earlier ones chose (Hydra); False is the paper's base form
    refine_inner width of that; 0 means width / 8, the paper's
    own_words    share of a training step's samples, at the end of the training, whose later slots hear what
                 the draft itself said in place of the text (`own_words.py`); 0: none. Decoding drops all
                 that follows a wrong word, so it is for long trainings; a short one has no rows to spare
    own_words_after  share of the training after which that begins to rise from 0
    """

    latents: int = Field(64, ge=1)
    layers: int = Field(1, ge=1)
    heads: int = Field(0, ge=0)
    head_dim: HeadDim = 64
    dropout: float = Field(0.1, ge=0, lt=1)
    input_norm: bool = True
    fuse_prefix: bool = True
    slot_keep: float = Field(1.0, gt=0, le=1)
    refine: bool = True
    refine_inner: int = Field(0, ge=0)
    own_words: float = Field(0.2, ge=0, le=1)
    own_words_after: float = Field(0.1, ge=0, lt=1)


class SpecFlash(Draft):
    name = "specflash"
    Config: ClassVar[type[DraftConfig]] = SpecFlashConfig
    config: SpecFlashConfig

    def __init__(self, config: SpecFlashConfig, vocabulary_ids: Tensor | None = None):
        super().__init__(config, vocabulary_ids)
        D = config.width
        norm = (lambda: nn.RMSNorm(D, eps=1e-6)) if config.input_norm else nn.Identity
        self.embedding_norm, self.feature_norm, self.latent_norm = norm(), norm(), norm()
        self.compressor = Compressor(config.latents, D)
        self.fuse_gate, self.fuse_value = nn.Linear(2 * D, D), nn.Linear(2 * D, D)
        self.fuse_gate.apply(initialise)
        self.fuse_value.apply(initialise)
        open_fusion(self.fuse_gate, self.fuse_value)
        shape = BlockShape(D, head_count(D, config.heads, config.head_dim), config.head_dim,
                           inner=4 * D, bias=True, input_norm=True, dropout=config.dropout)
        self.head = SlotHead(config.k, config.layers, shape)
        self.refiner = Refiner(config.k, D, config.refine_inner or max(1, D // 8), config.input_norm,
                               config.dropout) if config.refine else None
        self._own_share = 0.0  # of the samples of a training step

    @property
    def dtype(self) -> torch.dtype:
        return self.head.residual.dtype

    def note_progress(self, over: float) -> None:
        self._own_share = share_at(over, self.config.own_words, self.config.own_words_after)

    def loss(self, batch: Batch) -> LossParts:
        anchors = find_anchors(batch.answer_mask, self.config.k)
        if self.training:
            anchors = thin(anchors, self.config.slot_keep)
        return draft_loss(self, batch, anchors, self.predict(batch, anchors))

    def predict(self, batch: Batch, anchors: Anchors) -> Tensor:
        """Drafted features of the trained rows [R, D], all slots of all anchors in one pass."""
        features = batch.inputs.to(self.dtype)                                    # [B, L, D]
        # The last token of a sample has no next one, so it is no base.
        layout = lay_out(batch.lengths - 1, batch.spans, self.config.latents)
        x = self.sequence(features, batch.ids.roll(-1, 1), layout)                # [B, L', D]
        at = layout.places.gather(1, anchors.bases).clamp(min=0)                  # [B, A]
        rows = self.head(x, at, keep=anchors.valid)                               # [R, D]
        base = anchors.target - 1 - anchors.slot                                  # [R]
        rows = self.head.gate(rows, anchors.slot, features[anchors.sample, base])
        return rows if self.refiner is None else self._refined(rows, batch.ids, anchors)

    def _refined(self, rows: Tensor, ids: Tensor, anchors: Anchors) -> Tensor:
        """Rows [R, D] that have heard words: w_j of base t is x_{t+1+j}, or what slot j-1 there drafted.

        The latter in training only, in samples whose coin falls so. Evaluation gives the text's words: a
        slot counts only where all slots before it said the right ones, and then these are its own.
        """
        words = ids[anchors.sample, anchors.target + 1]                           # [R] w_{i+1} of slot i
        own = toss(len(ids), self._own_share if self.training else 0.0, ids.device)[anchors.sample]
        refined = rows.clone()
        for slot in range(1, self.config.k):
            of_slot = (anchors.slot == slot).nonzero().flatten()                  # [n]
            before = of_slot - 1  # slot i-1 of the same base
            spoke = before[own[before]]
            words = words.index_copy(0, spoke, self._spoken(refined[spoke]))
            back = torch.arange(slot, device=ids.device)                          # w_i … w_1
            said = self.heard(words[before[:, None] - back])
            refined = refined.index_copy(0, of_slot, self.refiner(rows[of_slot], slot, said))
        return refined

    @torch.no_grad()
    def _spoken(self, rows: Tensor) -> Tensor:
        """The most likely token of each row: [n, D] -> [n]"""
        return torch.cat([self.target_ids(self.draft_logits(part).argmax(-1)) for part in rows.split(CHUNK)])

    def heard(self, tokens: Tensor) -> Tensor:
        """c_i of tokens w_1 … w_i [n, i], in any order -> [n, D]"""
        return self.embedding_norm(self.embed(tokens, self.dtype)).sum(-2)

    def sequence(self, features: Tensor, following: Tensor, layout: Layout) -> Tensor:
        """The compressed sequence [B, L', D], 0 at padding.

        features   [B, T, D]  h_t of each base
        following  [B, T]     x_{t+1} of each base
        """
        x = features.new_zeros(len(features), layout.width, features.shape[-1])
        seen = features[layout.owner[:, None], layout.span]                       # [S, N, D]
        latents = self.latent_norm(self.compressor(seen, layout.span_padding))    # [S, C, D]
        x = x.index_put((layout.owner[:, None], layout.latent_places), latents)
        text = layout.places >= 0                                                 # [B, T]
        raw = text & layout.before & (not self.config.fuse_prefix)
        b, t = (text & ~raw).nonzero(as_tuple=True)
        x = x.index_put((b, layout.places[b, t]), self.fuse(following[b, t], features[b, t]))
        b, t = raw.nonzero(as_tuple=True)
        return x.index_put((b, layout.places[b, t]), self.feature_norm(features[b, t]))

    def fuse(self, ids: Tensor, features: Tensor) -> Tensor:
        """Gated fusion of e(x_{t+1}) and h_t: ids [n], features [n, D] -> [n, D]"""
        embeddings = self.embedding_norm(self.embed(ids, features.dtype))
        pair = torch.cat([embeddings, self.feature_norm(features)], -1)           # [n, 2D]
        return F.silu(self.fuse_gate(pair)) * self.fuse_value(pair)

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return SpecFlashSession(self, prompt, output, token, capacity)


def open_fusion(gate: nn.Linear, value: nn.Linear) -> None:
    """Start the gated fusion near (e + h)/√2, an open gate before a plain mean, instead of near 0.

    As EAGLE's fusion starts as the identity on h: short trainings profit most.
    """
    D = value.out_features
    nn.init.constant_(gate.bias, OPEN)
    value.weight.data += torch.cat([torch.eye(D), torch.eye(D)], 1) / 2 ** 0.5


class SpecFlashSession(Session):
    """Keys of slot 0 of every committed base, and the drafted features of the last one's slots."""

    def __init__(self, draft: SpecFlash, prompt: Prompt, output: Output, token: int, capacity: int):
        self._draft = draft
        features = output.features.to(draft.dtype)                                # [1, L, D]
        lengths = torch.tensor([prompt.length], device=features.device)
        layout = lay_out(lengths, [prompt.spans], draft.config.latents)
        self._buffers = draft.head.new_buffers(layout.width + capacity - prompt.length)
        following = F.pad(prompt.ids[:, 1:], (0, 1), value=token)                 # [1, L]
        self._commit(draft.sequence(features, following, layout), features[0, -1:])

    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        rows = self._drafted[: max(limit, 0)]                                     # [K, D]
        if self._draft.config.nodes and len(rows):
            return self._tree(rows, sampling, chance)
        if self._draft.refiner is None:
            return self._draft.choose(rows, sampling, chance)
        return self._chain(rows, sampling, chance)

    def _tree(self, rows: Tensor, sampling: Sampling, chance: Chance) -> Proposal:
        """Every path is refined by its own tokens."""
        draft = self._draft
        if draft.refiner is None:
            slots = draft.draft_logits(rows)                                      # [K, V_d]
            return propose_tree(draft, slots[:1], on_every_path(slots), len(rows), sampling, chance)
        said = rows.new_zeros(1, rows.shape[1])                                   # of each node of the level
        following = iter(range(1, len(rows)))

        def expand(parents: Tensor, columns: Tensor) -> Tensor:
            nonlocal said
            slot = next(following)
            said = said[parents] + draft.heard(draft.target_ids(columns)[:, None])
            return draft.draft_logits(draft.refiner(rows[slot, None].expand_as(said), slot, said))

        return propose_tree(draft, draft.draft_logits(rows[:1]), expand, len(rows), sampling, chance)

    def _chain(self, rows: Tensor, sampling: Sampling, chance: Chance) -> Proposal:
        """One token after the other, each slot refined by the tokens before it."""
        draft, chain, said = self._draft, [], 0
        for slot, row in enumerate(rows.split(1)):                                # [1, D]
            if slot:
                said = said + draft.heard(chain[-1].tokens[None])
                row = draft.refiner(row, slot, said)
            chain.append(draft.choose(row, sampling, chance))
        return join_chain(chain) if chain else draft.choose(rows, sampling, chance)

    def advance(self, ids: Tensor, features: Tensor) -> None:
        features = features.to(self._draft.dtype)                                 # [n, D]
        self._commit(self._draft.fuse(ids, features)[None], features[-1:])

    def _commit(self, x: Tensor, last: Tensor) -> None:
        """Append bases x [1, n, D] and draft from the last one, whose feature is `last` [1, D]."""
        head = self._draft.head
        at = torch.full((1, 1), x.shape[1] - 1, device=x.device)
        rows = head(x, at, buffers=self._buffers)[0, 0]                           # [K, D]
        self._drafted = head.gate(rows, torch.arange(len(rows), device=x.device), last)
