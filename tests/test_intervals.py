"""The interval covers as often as it says, and the planned number of prompts finds what it was planned for."""

import math

import numpy as np
import pytest
from scipy import special

from specflash.intervals import (
    Interval,
    interval_ends,
    interval_of,
    prompts_needed,
    share_interval,
    student_quantile,
    widened_tail,
)

EXPERIMENTS = 1000


def time_ratio(total: np.ndarray) -> np.ndarray:
    """Sums [..., 4] (our seconds, our tokens, their seconds, their tokens) -> seconds per token, ours / theirs."""
    return (total[..., 0] / total[..., 1]) / (total[..., 2] / total[..., 3])


def simulate(prompts: int, ratio: float, seed: int, noise: float = 0.06) -> np.ndarray:
    """[experiments, prompts, 4]: prompts of unlike length and cost, paired, each side with noise of its own."""
    random = np.random.default_rng(seed)
    shape = (EXPERIMENTS, prompts)
    tokens = random.integers(16, 65, shape).astype(float)
    cost = tokens * random.lognormal(0, 0.3, shape)
    ours, theirs = (cost * random.lognormal(0, noise, shape) for _ in range(2))
    return np.stack([ratio * ours, tokens, theirs, tokens], axis=-1)


@pytest.mark.parametrize(("prompts", "ratio"), [(2, 1.0), (3, 0.4), (5, 1.0), (12, 1.0), (30, 0.4), (60, 1.03)])
def test_the_interval_covers_the_true_ratio_in_95_percent_of_the_experiments(prompts, ratio):
    low, high = interval_ends(simulate(prompts, ratio, seed=prompts), time_ratio)
    assert 0.93 <= np.mean((low <= ratio) & (ratio <= high)) <= 0.97


def test_plain_quantiles_would_not_cover_at_few_prompts(monkeypatch):
    """Why the tail is widened."""
    monkeypatch.setattr("specflash.intervals.widened_tail", lambda prompts: 0.025)
    low, high = interval_ends(simulate(12, 1.0, seed=12), time_ratio)
    assert np.mean((low <= 1) & (high >= 1)) < 0.93


@pytest.fixture(scope="module")
def planned() -> int:
    """Prompts planned for 3 % from the median of pilots of 30."""
    pilots = interval_ends(simulate(30, 1.0, seed=7), time_ratio).T
    return int(np.median([prompts_needed(Interval(*ends), 30, effect=0.03) for ends in pilots]))


def test_a_slow_down_of_3_percent_is_found_at_the_planned_number_of_prompts(planned):
    low, _ = interval_ends(simulate(planned, 1.03, seed=8), time_ratio)
    assert np.mean(low > 1) >= 0.95  # planned for 97.5 %


def test_at_the_planned_number_no_slow_down_is_seen_where_there_is_none(planned):
    low, _ = interval_ends(simulate(planned, 1.0, seed=9), time_ratio)
    assert np.mean(low > 1) <= 0.035


def test_prompts_needed_by_hand():
    """An interval twice as wide as the effect needs four times its prompts, and one more to be narrower."""
    assert prompts_needed(Interval(1 / 1.5, 1.5), 10, 0.5) == 41


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 10, 100])
def test_students_quantile_is_that_of_the_books(freedom):
    assert student_quantile(freedom) == pytest.approx(special.stdtrit(freedom, 0.975), rel=0.01)


def test_the_tail_is_widened_for_few_prompts_only():
    assert widened_tail(10) == pytest.approx(special.ndtr(-math.sqrt(10 / 9) * special.stdtrit(9, 0.975)), rel=0.01)
    assert widened_tail(100_000) == pytest.approx(0.025, rel=1e-3)


def test_many_experiments_at_once_are_each_its_own():
    columns = simulate(12, 1.0, seed=1)[:3]
    ends = interval_ends(columns, time_ratio).T
    assert [tuple(pair) for pair in ends] == [
        pytest.approx((one.low, one.high)) for one in (interval_of(each, time_ratio) for each in columns)]


def test_another_seed_gives_another_interval():
    columns = np.random.default_rng(0).random((30, 2))
    first, other = (interval_of(columns, lambda total: total[..., 0], draws=50, seed=seed) for seed in (0, 1))
    assert first != other


@pytest.mark.parametrize("prompts", [0, 1])
def test_nothing_and_one_prompt_have_no_interval(prompts):
    interval = interval_of(np.ones((prompts, 2)), lambda total: total[..., 0])
    assert math.isnan(interval.low) and math.isnan(interval.high)


def test_the_interval_of_two_prompts_by_hand():
    """Ratios of 1 and 4 pool to 2.5: the jackknife's error is half of ln 4, and Student's quantile of 1 is 12.7062."""
    interval = interval_of(np.array([[1.0, 1.0], [4.0, 1.0]]), lambda total: total[..., 0] / total[..., 1])
    assert math.log(interval.high / 2.5) == pytest.approx(12.7062 * math.log(4) / 2, rel=1e-5)
    assert interval.high / 2.5 == pytest.approx(2.5 / interval.low)


@pytest.mark.parametrize("prompts", [2, 7])
def test_the_interval_of_a_constant_is_that_constant(prompts):
    interval = interval_of(np.tile([3.0, 2.0], (prompts, 1)), lambda total: total[..., 0] / total[..., 1])
    assert (interval.low, interval.high) == pytest.approx((1.5, 1.5))


def test_the_interval_has_the_width_of_the_normal_law():
    values = np.random.default_rng(1).normal(10, 2, 400)
    interval = interval_of(np.stack([values, np.ones(400)], 1), lambda total: total[..., 0] / total[..., 1])
    half = 1.96 * values.std() / math.sqrt(400)
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


@pytest.mark.parametrize(("hits", "trials", "low", "high"), [
    (10, 10, 0.7225, 1), (0, 10, 0, 0.2775), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)])
def test_wilsons_interval_is_that_of_the_books(hits, trials, low, high):
    """The last case is Newcombe's (1998)."""
    found = share_interval(hits, trials)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_nothing_tried_tells_no_share():
    assert math.isnan(share_interval(0, 0).low)
