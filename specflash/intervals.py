"""How sure a ratio of sums is: its paired bootstrap interval, and how many prompts a finer one needs.

It knows neither what is summed nor which method is whose; `columns` come from metrics.py and its users.

The plain percentile interval of few prompts is too narrow: its variance lacks n / (n - 1), and it has the
normal law's quantiles where Student's belong. So the quantiles taken are widened (Hesterberg 2015,
"What teachers should know about the bootstrap", §5.4): instead of 2.5 % those at Φ(-√(n / (n-1)) t).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

Statistic = Callable[[np.ndarray], np.ndarray]
"""Column sums [..., c] -> [...]"""

NORMAL = NormalDist()
TAIL = 0.025


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def bootstrap(columns: np.ndarray, statistic: Statistic, draws: int = 2000, seed: int = 0) -> Interval:
    """95 % interval of a function of column sums, prompts drawn with replacement.

    columns    [prompts, c]  what is summed; a row stays together, which is what pairs the methods
    statistic  sums [..., c] -> [...]
    """
    if not len(columns):
        return Interval(math.nan, math.nan)
    low, high = bootstrap_ends(columns, statistic, draws, seed)
    return Interval(float(low), float(high))


def bootstrap_ends(columns: np.ndarray, statistic: Statistic, draws: int = 2000, seed: int = 0) -> np.ndarray:
    """The ends of `bootstrap` for many experiments at once: columns [..., prompts, c] -> [2, ...]"""
    prompts = columns.shape[-2]
    times_drawn = np.random.default_rng(seed).multinomial(prompts, np.full(prompts, 1 / prompts), draws)
    sums = np.tensordot(times_drawn.astype(float), columns, axes=(1, -2))       # [draws, ..., c]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = statistic(sums)                                                # [draws, ...]
    tail = widened_tail(prompts)
    return np.nanquantile(values, [tail, 1 - tail], axis=0)


def widened_tail(prompts: int) -> float:
    """The share of the draws to leave out at either end; 0 for one prompt, 2.5 % for very many."""
    if prompts < 2:
        return 0.0
    return NORMAL.cdf(-math.sqrt(prompts / (prompts - 1)) * student_quantile(prompts - 1))


def student_quantile(freedom: int) -> float:
    """97.5 % quantile of Student's law by its expansion about the normal one (within 1 % from 3 on)."""
    z = NORMAL.inv_cdf(1 - TAIL)
    terms = ((z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96,
             (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


def prompts_needed(interval: Interval, prompts: int, effect: float) -> int:
    """How many prompts make the interval of a ratio narrower than from 1 to 1 + effect.

    Such an interval never holds both ends, so it always decides between them; a true ratio of
    1 + effect is told from 1 in 97.5 % of the repetitions.

    interval  of the ratio, from `prompts` prompts of the same kind; its width goes with 1 / √prompts
    """
    width = math.log(interval.high) - math.log(interval.low)
    return math.floor(prompts * (width / math.log1p(effect)) ** 2) + 1
