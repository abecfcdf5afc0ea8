"""Ordinary decoding, as a draft that proposes nothing. It knows no target and no loop."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from specflash.cache import HEADROOM
from specflash.drafts.base import Draft, DraftConfig, LossParts, Session
from specflash.records import Batch, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling
from specflash.targets.base import Ends


class VanillaConfig(DraftConfig):
    k: int = Field(0, ge=0, lt=HEADROOM)


class Vanilla(Draft):
    """The baseline every speed-up is quoted against runs through the same loop as the drafts."""

    name = "vanilla"
    Config: ClassVar[type[DraftConfig]] = VanillaConfig
    trainable = False

    def attach(self, ends: Ends) -> "Vanilla":
        return self

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return VanillaSession(output.features.device)

    def loss(self, batch: Batch) -> LossParts:
        raise NotImplementedError("vanilla has nothing to train")


class VanillaSession(Session):
    def __init__(self, device: torch.device):
        self._nothing = torch.empty(0, dtype=torch.long, device=device)

    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        return Proposal(self._nothing)

    def advance(self, ids: Tensor, features: Tensor) -> None:
        pass
