"""Are two samples of the same law? The χ² test of homogeneity, corrected for many tests. It knows no model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

LEAST_EXPECTED = 5
"""Tokens that either sample is expected to hold less often share one class."""
LEVEL = 0.01


@dataclass(frozen=True)
class Homogeneity:
    """One test. p is the uncorrected p-value, `corrected` the one after Holm."""

    method: str
    sample: str
    place: int
    draws: int
    statistic: float
    freedom: int
    p: float
    corrected: float = 1.0

    @property
    def same(self) -> bool:
        return self.corrected >= LEVEL


def chi_square(ours: Counter, reference: Counter) -> tuple[float, int]:
    """The statistic of homogeneity and its degrees of freedom (0 where one class is left)."""
    sizes = ours.total(), reference.total()
    smaller = min(sizes) / sum(sizes)
    both = ours + reference
    rare = {token for token, count in both.items() if count * smaller < LEAST_EXPECTED}
    classes = [[token] for token in both if token not in rare] + ([sorted(rare)] if rare else [])
    statistic = 0.0
    for members in classes:
        seen = [sum(counts[token] for token in members) for counts in (ours, reference)]
        expected = [sum(seen) * size / sum(sizes) for size in sizes]
        statistic += sum((one - wanted) ** 2 / wanted for one, wanted in zip(seen, expected, strict=True))
    return statistic, len(classes) - 1


def tail(statistic: float, freedom: int) -> float:
    """P(χ² with `freedom` degrees ≥ statistic)."""
    if freedom == 0:
        return 1.0
    half = torch.tensor([freedom / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected p-values: the k-th smallest of n times n - k + 1, never falling, at most 1."""
    corrected, highest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, p_values[place] * (len(p_values) - rank)))
        corrected[place] = highest
    return corrected
