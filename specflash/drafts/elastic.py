"""The elastic visual compressor (SpecVLM §3.4): experts, and a gate that a question sets. It knows no draft.

    fusion     which experts                          what becomes of their latents
    dynamic    all four, and no picture at all        one expert's are there, as the gate says
    weighted   prune, pool, conv at conv's ratio      their sum, weighted by the gate
    concat     all four                               all of them, one behind the other; there is no gate

Latents come with a log-weight, which attention adds to their scores. In decoding it is 0: what the gate
did not choose is not there, and not even computed. In training a choice would give neither the gate nor
the other experts a gradient, so a Gumbel-softmax (arXiv 1611.01144) stands for it: all latents are there,
each with its expert's weight. Where that is one-hot, attention is what it will be in decoding.
"""

from typing import Literal, NamedTuple

import torch
from pydantic import BaseModel, Field, ValidationInfo, field_validator
from torch import Tensor, nn

from specflash.drafts.blocks import BlockShape, initialise
from specflash.drafts.experts import Conv, Pool, Prune, Resampler

Fusion = Literal["dynamic", "weighted", "concat"]


class ElasticConfig(BaseModel):
    """How pictures are compressed. The defaults are the paper's.

    prune, pool, conv  N / C of these experts; 0 leaves one out. With `weighted` all have conv's ratio,
                       for which the paper takes 3 and no more than 5.
    queries            C of the resampler; 0 leaves it out
    no_image           `dynamic` may also choose to show no picture
    temperature        of the Gumbel-softmax
    fusion             "dynamic", "weighted" or "concat"
    """

    prune: int = Field(20, ge=0)
    pool: int = Field(20, ge=0)
    conv: int = Field(3, ge=0)
    queries: int = Field(2, ge=0)
    no_image: bool = True
    temperature: float = Field(1.0, gt=0)
    fusion: Fusion = Field("dynamic", validate_default=True)

    @field_validator("fusion")
    @classmethod
    def _has_an_expert(cls, fusion: Fusion, info: ValidationInfo) -> Fusion:
        needed = {"dynamic": ("prune", "pool", "conv", "queries", "no_image"), "weighted": ("conv",),
                  "concat": ("prune", "pool", "conv", "queries")}[fusion]
        # A setting that is wrong by itself is missing here, and told of elsewhere.
        if not any(info.data.get(setting, True) for setting in needed):
            raise ValueError(f"`{fusion}` needs {' or '.join(f'`{setting}`' for setting in needed)}")
        return fusion


class Part(NamedTuple):
    """Latents [S, C, D] of S pictures, and their log-weight in attention [S]."""

    latents: Tensor
    log_weight: Tensor


class ElasticCompressor(nn.Module):
    """shape  of the resampler's attention"""

    def __init__(self, config: ElasticConfig, shape: BlockShape):
        super().__init__()
        self.fusion, self.temperature = config.fusion, config.temperature
        self.experts = nn.ModuleDict(make_experts(config, shape))
        choices = len(self.experts) + (config.no_image and self.fusion == "dynamic")
        self.gate = None if self.fusion == "concat" else nn.Sequential(
            nn.RMSNorm(shape.width, eps=1e-6), nn.Linear(shape.width, choices)).apply(initialise)

    def weigh(self, question: Tensor) -> Tensor:
        """question [B, D] -> log-weights of the experts [B, E], "no picture" the last one where it may be chosen."""
        if self.gate is None:
            return question.new_zeros(len(question), len(self.experts), dtype=torch.float32)
        logits = self.gate(question).float()                                      # [B, E]
        if self.fusion == "weighted":
            return logits.log_softmax(-1)
        if self.training:
            gumbel = -torch.empty_like(logits).exponential_().log()
            return ((logits + gumbel) / self.temperature).log_softmax(-1)
        return torch.full_like(logits, -torch.inf).scatter(1, logits.argmax(-1, keepdim=True), 0)

    def forward(self, features: Tensor, log_weights: Tensor) -> list[Part]:
        """features [S, N, D] of pictures of one size, log_weights [S, E] of their questions."""
        if self.fusion == "weighted":
            latents = torch.stack([expert(features) for expert in self.experts.values()], 1)
            weights = log_weights.exp().to(features.dtype)[..., None, None]       # [S, E, 1, 1]
            return [Part((weights * latents).sum(1), torch.zeros_like(log_weights[:, 0]))]
        parts = []
        for expert, own in zip(self.experts.values(), log_weights.T, strict=False):  # "no picture" has no expert
            if self.training or own.isfinite().any():  # else nobody chose it
                parts.append(Part(expert(features), own))
        return parts


def make_experts(config: ElasticConfig, shape: BlockShape) -> dict[str, nn.Module]:
    """Those that are not left out, in the order of the gate."""
    alike = config.fusion == "weighted"
    prune, pool = ((config.conv if alike and ratio else ratio) for ratio in (config.prune, config.pool))
    experts: dict[str, nn.Module] = {}
    if prune:
        experts["prune"] = Prune(prune)
    if pool:
        experts["pool"] = Pool(pool, grid=not alike)
    if config.conv:
        experts["conv"] = Conv(config.conv, shape.width)
    if config.queries and not alike:
        experts["resampler"] = Resampler(config.queries, shape)
    return experts
