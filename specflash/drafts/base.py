"""What the engine and the trainer need of a draft. It knows no target family and no loop."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from specflash.cache import HEADROOM
from specflash.records import Batch, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling, distribution
from specflash.targets.base import Ends


class DraftConfig(BaseModel):
    """Settings every draft has. A draft's own config class extends it.

    width       D of the target
    k           tokens drafted one after the other per round; the verifying pass has one row more, and
                overhangs the answer by HEADROOM rows at most
    vocabulary  how many of the most frequent answer tokens the draft may propose; 0 means all.
                A draft that cannot propose a token is slower there, never wrong: the target decides.
    sampled     at temperature > 0, draw drafts from the draft's law (q dense) instead of taking
                the most likely token (q one-hot)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    width: int = Field(ge=1)
    k: int = Field(4, ge=1, lt=HEADROOM)
    vocabulary: int = Field(0, ge=0)
    sampled: bool = False

    given: ClassVar[frozenset[str]] = frozenset({"width"})
    """Settings that are the target's or the features', where the experiment does not say them."""

    decoding: ClassVar[frozenset[str]] = frozenset({"sampled"})
    """Settings that the weights do not depend on: they may change without another training."""

    @property
    def most(self) -> int:
        """The most tokens that one round drafts."""
        return self.k

    @property
    def chains(self) -> bool:
        """Whether each drafted token follows the one before."""
        return True


@dataclass(frozen=True)
class LossParts:
    """What one batch gives to the optimiser and to the log: sums and counts, never ratios.

    loss      scalar to be minimised, the mean over valid rows
    rows      valid (base, slot) rows in this batch
    correct   [K] rows per slot where the draft's most likely token is the target's
    total     [K] rows per slot
    parts     named scalar sums for the log (for example regression, classification)
    """

    loss: Tensor
    rows: int
    correct: Tensor
    total: Tensor
    parts: dict[str, float]


class Session(ABC):
    """One request's drafting state. It holds true target features of committed tokens only."""

    @abstractmethod
    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        """Draft at most `limit` tokens after the committed ones."""

    @abstractmethod
    def advance(self, ids: Tensor, features: Tensor) -> None:
        """Commit tokens.

        ids       [n]     the newly committed tokens; the last one is pending (no feature yet)
        features  [n, D]  features of the n positions before each of them: row j is h of the
                          token that precedes ids[j]. A draft with an `inner_layer` is given [n, 2D]: h, and
                          behind it the hidden state after that layer (`Output.rows`)
        """


def join_chain(links: Sequence[Proposal]) -> Proposal:
    """Tokens drafted one after the other, as one proposal."""
    laws = [link.q for link in links if link.q is not None]
    return Proposal(torch.cat([link.tokens for link in links]), torch.cat(laws) if laws else None)


class Draft(nn.Module, ABC):
    """A trainable (or empty) proposer of tokens. Weights never include a target tensor.

    vocabulary_ids  [V_d] int64, where the draft vocabulary is restricted: the target's id of each
                    token the draft may propose (a buffer, so it is saved with the weights)
    """

    name: ClassVar[str]
    Config: ClassVar[type[DraftConfig]] = DraftConfig
    trainable: ClassVar[bool] = True
    weights_of: ClassVar[str | None] = None
    """The draft of the catalogue whose weights this one drafts with, where it has none of its own."""

    def __init__(self, config: DraftConfig, vocabulary_ids: Tensor | None = None):
        super().__init__()
        self.config = config
        if config.vocabulary:
            assert vocabulary_ids is not None and len(vocabulary_ids) == config.vocabulary
            self.register_buffer("vocabulary_ids", vocabulary_ids)

    def attach(self, ends: Ends) -> "Draft":
        """Borrow the target's frozen tables (kept out of state_dict and parameters).

        Move the draft to the target's device first: `to` does not reach borrowed tables.
        """
        # Detached, so that the target's own nn.Parameter is not registered here.
        self.ends = Ends(ends.embedding.detach(), ends.lm_head.detach())
        self._draft_head = self.restrict(self.ends.lm_head, dim=0)                # [V_d, D]
        return self

    def restrict(self, table: Tensor, dim: int = -1) -> Tensor:
        """The part of `table` (size V along `dim`) that belongs to the draft vocabulary."""
        return table.index_select(dim, self.vocabulary_ids) if self.config.vocabulary else table

    def embed(self, ids: Tensor, dtype: torch.dtype) -> Tensor:
        """Frozen token embeddings in the draft's dtype: ids [...] -> [..., D]"""
        return self.ends.embed(ids).to(dtype)

    def draft_logits(self, features: Tensor) -> Tensor:
        """Frozen LM head over the draft vocabulary: [..., D] -> [..., V_d]"""
        return F.linear(features.to(self._draft_head.dtype), self._draft_head)

    def pull_back(self, gradient: Tensor) -> Tensor:
        """Gradient by the draft's logits [..., V_d] -> gradient by its features [..., D]"""
        return gradient.to(self._draft_head.dtype) @ self._draft_head

    def choose(self, features: Tensor, sampling: Sampling, chance: Chance) -> Proposal:
        """One token per row of drafted features [n, D].

        The most likely one, whose law is one-hot (q None); or, with `sampled` and a temperature, a
        draw from the draft's own law at the request's sampling (q [n, V], 0 outside the draft
        vocabulary).
        """
        logits = self.draft_logits(features)                                      # [n, V_d]
        if not self.config.sampled or sampling.temperature == 0:
            return Proposal(self.target_ids(logits.argmax(-1)))
        law = distribution(logits, sampling)                                      # [n, V_d]
        picked = chance.draw(law)                                                 # [n]
        return Proposal(self.target_ids(picked), self.over_all(law))

    def over_all(self, law: Tensor) -> Tensor:
        """A law over the draft vocabulary [n, V_d] as one over the target's [n, V]"""
        if not self.config.vocabulary:
            return law
        return law.new_zeros(len(law), self.ends.lm_head.shape[0]).index_copy_(1, self.vocabulary_ids, law)

    def target_ids(self, columns: Tensor) -> Tensor:
        """Columns of the draft's logits to token ids of the target."""
        return self.vocabulary_ids[columns] if self.config.vocabulary else columns

    @abstractmethod
    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        """Open a session after the target's prefill (the draft's own prefill happens here).

        output    features [1, L, D] of the whole prompt, and `inner` where the draft has an `inner_layer`
        token     first answer token, sampled by the target; it is pending
        capacity  most positions this request can reach (prompt + answer + drafts)

        Like everything a session does, it runs without gradients and in eval mode.
        """

    @property
    def inner_layer(self) -> int | None:
        """The target's decoder layer whose hidden states this draft is to be given too; None: it needs none."""
        return None

    @property
    def loss_slots(self) -> int:
        """How many slots `loss` asks for in the present mode, so that the trainer can count the
        rows of a batch ahead (`anchors.trained_slots(batch.answer_mask, draft.loss_slots).sum()`)."""
        return self.config.k

    def note_progress(self, over: float) -> None:
        """The trainer says before every optimiser step, also after a restart, what share of the
        training is over: 0 at its first step, below 1 at its last. For a draft whose loss changes
        meanwhile; the others need not listen."""

    @abstractmethod
    def loss(self, batch: Batch) -> LossParts: ...

    def forward(self, batch: Batch) -> LossParts:
        """Training engines wrap and call a module; what they are to call is the loss."""
        return self.loss(batch)
