"""The stopping rule: it looks seldom, ends where it says, and its intervals hold the truth as often as they claim."""

import numpy as np
import pytest

from flashbench.serve.ab.rule import LEAST_PROMPTS, Rule, is_look, looks, prompts_wanted, verdict, width_of
from specflash.intervals import interval_ends

CAMPAIGNS, MOST = 500, 80
RATIO = 2.0


def figure(prompts: int, low: float, high: float, value: float = 1.0) -> dict:
    return {"value": value, "interval": [low, high], "prompts": prompts, "more": 0}


NOTHING = {"value": None, "interval": None, "prompts": 3, "more": 3}


def test_looks_lie_a_fifth_apart():
    assert list(looks(32)) == [6, 8, 10, 12, 15, 18, 22, 27]
    assert [pairs for pairs in range(33) if is_look(pairs)] == list(looks(32))


def test_thousands_of_pairs_are_looked_at_few_times():
    assert len(list(looks(100_000))) < 60


def test_it_needs_the_width_and_the_least_number():
    rule = Rule(width=0.1, max_pairs=500)
    assert verdict(rule, figure(LEAST_PROMPTS, 0.96, 1.05), 40) == "enough"
    assert verdict(rule, figure(LEAST_PROMPTS - 1, 0.96, 1.05), 40) is None
    assert verdict(rule, figure(40, 0.94, 1.05), 40) is None
    assert verdict(rule, figure(40, 0.94, 1.05), 500) == "most pairs"
    assert verdict(rule, NOTHING, 3) is None


def test_the_width_is_relative():
    assert width_of(figure(9, 1.8, 2.4, value=2.0)) == pytest.approx(0.3)
    assert width_of(NOTHING) is None


def test_four_times_the_prompts_halve_the_width():
    assert prompts_wanted(Rule(width=0.1), figure(30, 0.9, 1.1)) == pytest.approx(120, abs=1)
    assert prompts_wanted(Rule(width=0.5), figure(6, 0.9, 1.1)) == LEAST_PROMPTS
    assert prompts_wanted(Rule(), NOTHING) is None


def seconds_per_token(total: np.ndarray) -> np.ndarray:
    """Sums [..., 4] (our seconds, our tokens, their seconds, their tokens) -> R [...]"""
    return (total[..., 2] / total[..., 3]) / (total[..., 0] / total[..., 1])


def live_pairs(spread: float, noise: float = 0.08) -> np.ndarray:
    """[campaigns, MOST, 4]: prompts of unlike length and cost, whose own R have this spread, each side with noise."""
    random = np.random.default_rng(5)
    shape = CAMPAIGNS, MOST
    tokens = random.integers(16, 65, shape).astype(float)
    cost = tokens * random.lognormal(0, 0.3, shape)
    own = random.lognormal(-spread**2 / 2, spread, shape) / RATIO
    ours, theirs = (each * random.lognormal(0, noise, shape) for each in (cost * own, cost))
    return np.stack([ours, tokens, theirs, tokens], axis=-1)


def test_the_interval_at_the_end_holds_the_truth_nearly_as_often_as_of_a_number_fixed_beforehand():
    """All campaigns at once, look by look. The bootstrap's few draws cost both the same, a little below 95 %."""
    pairs, rule = live_pairs(spread=0.3), Rule(width=0.3)
    going, held, sizes = np.ones(CAMPAIGNS, bool), np.zeros(CAMPAIGNS, bool), np.zeros(CAMPAIGNS, int)
    for prompts in (look for look in looks(MOST) if look >= LEAST_PROMPTS and going.any()):
        low, high, value = ends(pairs[going, :prompts])
        enough = np.array([verdict(rule, figure(prompts, *each), prompts) is not None
                           for each in zip(low, high, value, strict=True)], bool)
        ended = np.flatnonzero(going)[enough]
        held[ended], sizes[ended] = holds(low, high)[enough], prompts
        going[ended] = False
    assert not going.any()
    low, high, _ = ends(pairs[:, :int(np.median(sizes))])
    assert holds(low, high).mean() - 0.02 <= held.mean() <= 0.97
    assert held.mean() >= 0.92


def ends(pairs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Interval and value of R, of many campaigns at once."""
    return *interval_ends(pairs, seconds_per_token, draws=300), seconds_per_token(pairs.sum(-2))


def holds(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return (low <= RATIO) & (high >= RATIO)
