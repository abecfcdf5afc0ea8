"""The Medusa draft (arXiv 2401.10774), as a chain: K heads on one feature. It knows no target family.

Slot i at base t reads h_t alone and speaks about x_{t+2+i} (§2.1.1; x_{t+1} is the target's own):

    paper   softmax( W_i · r_i(h_t) )              r_i(h) = h + SiLU(A_i h + b_i)
    here    softmax( W_LM · U_i · r_i(h_t) )       W_LM the target's frozen LM head

The heads see no token that the target has committed behind h_t, nor one another's.

Departures. A draft of this project holds no table as large as the vocabulary, so the head's own
last layer W_i [V, D] is the frozen LM head behind a square U_i [D, D]. Both forms start as the LM
head on h_t (A_i = 0, b_i = 0, and W_i = W_LM or U_i = 1). The tokens of a training text are
replaced by the target's law at that place: where the target wrote the text, as §2.3.2 has it
done, the cross-entropy is the same in expectation. Slot i counts 0.8^i (§2.2.1, up to a common
factor). The tree of §2.1.2 has a fixed shape; here it is grown anew from the heads' laws (grow.py), or
left out (a chain). Our exact rule stands for "typical acceptance" of §2.3.1, which does not keep the
target's law.
"""

from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from specflash.drafts.anchors import Anchors, find_anchors
from specflash.drafts.base import Draft, DraftConfig, LossParts, Session
from specflash.drafts.grow import on_every_path, propose_tree
from specflash.drafts.loss import law_loss
from specflash.drafts.tree_config import TreeConfig
from specflash.records import Batch, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling


class MedusaConfig(TreeConfig):
    """layers  residual blocks per head; 1 is the paper's form
    decay   slot i counts decay^i in the loss
    """

    layers: int = Field(1, ge=1)
    decay: float = Field(0.8, gt=0, le=1)


class MedusaHead(nn.Module):
    """U · r(…r(h)): [..., D] -> [..., D]. It starts as the identity."""

    def __init__(self, width: int, layers: int):
        super().__init__()
        self.residual = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.last = nn.Linear(width, width, bias=False)
        for layer in self.residual:
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        nn.init.eye_(self.last.weight)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.residual:
            x = x + F.silu(layer(x))
        return self.last(x)


class Medusa(Draft):
    name = "medusa"
    Config: ClassVar[type[DraftConfig]] = MedusaConfig
    config: MedusaConfig

    def __init__(self, config: MedusaConfig, vocabulary_ids: Tensor | None = None):
        super().__init__(config, vocabulary_ids)
        self.heads = nn.ModuleList(MedusaHead(config.width, config.layers) for _ in range(config.k))

    @property
    def dtype(self) -> torch.dtype:
        return self.heads[0].last.weight.dtype

    def loss(self, batch: Batch) -> LossParts:
        anchors = find_anchors(batch.answer_mask, self.config.k)
        return law_loss(self, batch, anchors, self.predict(batch, anchors), self.config.decay)

    def predict(self, batch: Batch, anchors: Anchors) -> Tensor:
        """What each trained row gives the LM head [R, D]."""
        at = anchors.bases[..., None].expand(-1, -1, batch.inputs.shape[-1])      # [B, A, D]
        return self.slots(batch.inputs.gather(1, at))[anchors.valid]

    def slots(self, features: Tensor) -> Tensor:
        """h_t [..., D] -> [..., K, D]"""
        features = features.to(self.dtype)
        return torch.stack([head(features) for head in self.heads], -2)

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return MedusaSession(self, output.features[0, -1:])


class MedusaSession(Session):
    """The feature of the last token but the pending one, [1, D]: all that the heads read."""

    def __init__(self, draft: Medusa, feature: Tensor):
        self._draft, self._feature = draft, feature

    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        draft = self._draft
        rows = draft.slots(self._feature)[0, : max(limit, 0)]                     # [K, D]
        if not draft.config.nodes or not len(rows):
            return draft.choose(rows, sampling, chance)
        slots = draft.draft_logits(rows)                                          # [K, V_d]
        return propose_tree(draft, slots[:1], on_every_path(slots), len(rows), sampling, chance)

    def advance(self, ids: Tensor, features: Tensor) -> None:
        self._feature = features[-1:]
