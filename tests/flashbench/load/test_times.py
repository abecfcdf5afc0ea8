"""The times of a load: whose they are, and that a percentile is not below the median."""

import pytest

from flashbench.load.client import Outcome
from flashbench.load.mix import Ask
from flashbench.load.times import times

ASK, STREAM = Ask("greedy", "eagle", b""), Ask("greedy", "eagle", b"", stream=True)


@pytest.mark.parametrize(("count", "p50", "p95"), [(1, 1, 1), (2, 1.5, 2), (20, 10.5, 19), (100, 50.5, 95)])
def test_percentiles_are_of_the_answered(count, p50, p95):
    answered = [Outcome(ASK, "answered", second) for second in range(count, 0, -1)]
    told = times([*answered, Outcome(ASK, "lost", 999)])
    assert told == {"requests": count + 1, "answered": count, "p50_s": p50, "p95_s": p95, "first_text_p50_s": None}


def test_a_first_text_is_that_of_a_stream():
    told = times([Outcome(STREAM, "answered", 9, first_s=2), Outcome(ASK, "answered", 9, first_s=5)])
    assert told["first_text_p50_s"] == 2


def test_nobody_answered():
    assert times([])["p50_s"] is None
