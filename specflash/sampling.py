"""From logits to the law that tokens are drawn from, and the drawing. It knows no model and no draft.

The order is Hugging Face's: temperature, then top-k, then top-p. Vanilla decoding and
verification both call this one function, so they cannot disagree about the law.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from specflash.errors import UserError

COLDEST = 1e-30
"""A lower temperature counts as this one: the law is the same in float32, and logits / temperature stays finite."""

SEEDS = range(-2**63, 2**63)
"""What torch takes as a seed."""


@dataclass(frozen=True)
class Sampling:
    """temperature 0 is greedy; top_k 0 and top_p 1 switch the cut off.

    ignore_eos  go on behind an end token, to `max_new_tokens`: for load tests that want answers of one length
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    max_new_tokens: int = 128
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise UserError(f"temperature must be a number ≥ 0, not {self.temperature}")
        if self.top_k < 0:
            raise UserError(f"top_k must be ≥ 0 (0 switches it off), not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p must lie in (0, 1], not {self.top_p}")
        if self.seed not in SEEDS:
            raise UserError(f"seed must lie in [-2^63, 2^63), not {self.seed}")
        if self.max_new_tokens < 1:
            raise UserError(f"max_new_tokens must be ≥ 1, not {self.max_new_tokens}")


def distribution(logits: Tensor, sampling: Sampling) -> Tensor:
    """The law of the next token, row by row.

    logits  [R, V] -> [R, V] probabilities (one-hot at temperature 0); float32, or float64 for float64 logits
    """
    precise = torch.promote_types(logits.dtype, torch.float32)
    if sampling.temperature == 0:
        law = torch.zeros(logits.shape, dtype=precise, device=logits.device)
        return law.scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    scores = logits.to(precise) / max(sampling.temperature, COLDEST)             # [R, V]
    if 0 < sampling.top_k < scores.shape[-1]:
        smallest_kept = scores.topk(sampling.top_k, dim=-1).values[..., -1:]
        scores = scores.masked_fill(scores < smallest_kept, -torch.inf)
    if sampling.top_p < 1:
        scores = _keep_nucleus(scores, sampling.top_p)
    return scores.softmax(-1)


def _keep_nucleus(scores: Tensor, top_p: float) -> Tensor:
    """Drop the least likely tokens whose probabilities together stay within 1 - top_p."""
    ascending, order = scores.sort(-1)                                   # [R, V]
    dropped = ascending.softmax(-1).cumsum(-1) <= 1 - top_p
    dropped[..., -1] = False  # the most likely token always stays
    return scores.masked_fill(torch.zeros_like(dropped).scatter(-1, order, dropped), -torch.inf)


class Chance:
    """All that is left to chance in one request, from a seeded generator of its own.

    Drafting, acceptance and sampling decide nothing by luck but through these two questions. So
    whoever answers them otherwise sees every outcome there is (flashbench.verify.law).
    """

    def __init__(self, seed: int = 0, device: torch.device | str = "cpu"):
        self._generator = torch.Generator(device=device).manual_seed(seed)

    def draw(self, law: Tensor) -> Tensor:
        """One token per row of `law` [R, V] -> [R] int64.

        By inverting the cumulative law: one random number per row, where `torch.multinomial` takes V.
        """
        cumulative = law.double().cumsum(-1)                                 # [R, V]
        cumulative = cumulative / cumulative[..., -1:]  # ends at exactly 1, above every random number
        luck = torch.rand(len(law), 1, dtype=torch.float64, device=law.device, generator=self._generator)
        return torch.searchsorted(cumulative, luck, right=True).squeeze(-1)

    def streak(self, probability: Tensor) -> Tensor:
        """How many of K independent trials succeed before the first that fails: [K] -> int64 scalar"""
        luck = torch.rand(probability.shape, device=probability.device, generator=self._generator)
        return (luck < probability).long().cumprod(0).sum()
