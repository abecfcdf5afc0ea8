"""How sure a ratio of sums is: its paired interval over prompts, and how many prompts a finer one needs.

It knows neither what is summed nor which method is whose; `columns` come from metrics.py and its users.

One prompt says nothing of the others and has no interval. From 2 to 5 the interval is Student's, about
the logarithm, with the jackknife's error: the bootstrap cannot leave the range of the prompts it has, and
even the extremes of 5 enclose their law's middle in less than 95 % of the cases (1 - 2/2⁵). From 6 on it
is the bootstrap's, whose plain percentiles are too narrow for few prompts: their variance lacks
n / (n - 1), and they are the normal law's where Student's belong. So the quantiles taken are widened
(Hesterberg 2015, "What teachers should know about the bootstrap", §5.4): instead of 2.5 % those at
Φ(-√(n / (n-1)) t).
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
FEWEST_TO_BOOTSTRAP = 6


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def interval_of(columns: np.ndarray, statistic: Statistic, draws: int = 2000, seed: int = 0) -> Interval:
    """95 % interval of a function of column sums, over prompts; nan where it cannot be known.

    columns    [prompts, c]  what is summed; a row stays together, which is what pairs the methods
    statistic  sums [..., c] -> [...], positive
    """
    low, high = interval_ends(columns, statistic, draws, seed)
    return Interval(float(low), float(high))


def interval_ends(columns: np.ndarray, statistic: Statistic, draws: int = 2000, seed: int = 0) -> np.ndarray:
    """The ends of `interval_of` for many experiments at once: columns [..., prompts, c] -> [2, ...]"""
    prompts = columns.shape[-2]
    if prompts < 2:
        return np.full((2, *columns.shape[:-2]), math.nan)
    if prompts < FEWEST_TO_BOOTSTRAP:
        return _student_ends(columns, statistic)
    return _bootstrap_ends(columns, statistic, draws, seed)


def _student_ends(columns: np.ndarray, statistic: Statistic) -> np.ndarray:
    prompts = columns.shape[-2]
    total = columns.sum(-2, keepdims=True)                                      # [..., 1, c]
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = np.log(statistic(total[..., 0, :]))                            # [...]
        without = np.log(statistic(total - columns))                            # [..., prompts]
    spread = without - without.mean(-1, keepdims=True)
    error = np.sqrt((prompts - 1) / prompts * (spread ** 2).sum(-1))            # [...]
    half = student_quantile(prompts - 1) * error
    return np.exp(np.stack([middle - half, middle + half]))


def _bootstrap_ends(columns: np.ndarray, statistic: Statistic, draws: int, seed: int) -> np.ndarray:
    prompts = columns.shape[-2]
    times_drawn = np.random.default_rng(seed).multinomial(prompts, np.full(prompts, 1 / prompts), draws)
    sums = np.tensordot(times_drawn.astype(float), columns, axes=(1, -2))       # [draws, ..., c]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = statistic(sums)                                                # [draws, ...]
    tail = widened_tail(prompts)
    return np.nanquantile(values, [tail, 1 - tail], axis=0)


def widened_tail(prompts: int) -> float:
    """The share of the draws to leave out at either end of 2 prompts and more; 2.5 % for very many."""
    return NORMAL.cdf(-math.sqrt(prompts / (prompts - 1)) * student_quantile(prompts - 1))


def student_quantile(freedom: int) -> float:
    """97.5 % quantile of Student's law: exact for 1 and 2, else its expansion about the normal one (1 %)."""
    if freedom == 1:
        return math.tan(math.pi * (0.5 - TAIL))
    if freedom == 2:
        return (1 - 2 * TAIL) / math.sqrt(2 * TAIL * (1 - TAIL))
    z = NORMAL.inv_cdf(1 - TAIL)
    terms = ((z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96,
             (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


def share_interval(hits: int, trials: int) -> Interval:
    """95 % interval of the chance of a hit, by Wilson's score: all of 10 hits still leave [0.72, 1].

    Of hits without a miss, or misses without a hit, the bootstrap would make a certainty.
    """
    if not trials:
        return Interval(math.nan, math.nan)
    z = NORMAL.inv_cdf(1 - TAIL)
    share, shrunk = hits / trials, 1 + z**2 / trials
    middle = (share + z**2 / (2 * trials)) / shrunk
    half = z / shrunk * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return Interval(max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < trials else 1.0)


def prompts_needed(interval: Interval, prompts: int, effect: float) -> int:
    """How many prompts make the interval of a ratio narrower than from 1 to 1 + effect.

    Such an interval never holds both ends, so it always decides between them; a true ratio of
    1 + effect is told from 1 in 97.5 % of the repetitions.

    interval  of the ratio, from `prompts` prompts of the same kind; its width goes with 1 / √prompts
    """
    width = math.log(interval.high) - math.log(interval.low)
    return math.floor(prompts * (width / math.log1p(effect)) ** 2) + 1
