"""The learning rate of every step, exactly."""

import pytest

from flashbench.train.schedule import rate_share, warmup_steps


def test_it_rises_to_the_peak_and_falls_to_zero_at_the_end():
    shares = [rate_share(step, warmup=2, total=6) for step in range(7)]
    assert shares == pytest.approx([1 / 2, 1, 4 / 5, 3 / 5, 2 / 5, 1 / 5, 0], abs=1e-15)


@pytest.mark.parametrize(("total", "warmup"), [(1, 1), (2, 1), (10, 1), (100, 5), (100, 100)])
def test_the_peak_is_reached_once_and_no_step_of_the_run_is_wasted(total, warmup):
    shares = [rate_share(step, warmup, total) for step in range(total)]
    assert shares.count(1.0) == 1
    assert shares.index(1.0) == warmup - 1
    assert min(shares) > 0
    assert rate_share(total, warmup, total) == 0


@pytest.mark.parametrize(("total", "share", "steps"), [(100, 0.05, 5), (101, 0.05, 6), (10, 0.0, 1), (1, 0.5, 1)])
def test_the_warm_up_is_a_share_of_the_run_and_at_least_one_step(total, share, steps):
    assert warmup_steps(total, share) == steps
