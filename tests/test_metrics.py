"""Every convention against numbers worked out by hand."""

import math

import numpy as np
import pytest

from specflash.errors import UserError
from specflash.intervals import interval_of
from specflash.metrics import (
    DECODE,
    E2E,
    Row,
    accept_length,
    accept_length_interval,
    geometric_mean,
    position_intervals,
    speedup,
    speedup_interval,
)
from specflash.records import PHASES, Generation


def seconds(decode: float, before: float = 0.0) -> dict[str, float]:
    """`decode` spread over the phases after the first token, `before` over those up to it."""
    return {"vision": before / 2, "prefill": before / 4, "draft_prefill": before / 4,
            "draft": decode / 4, "verify": decode / 2, "other": decode / 4}


def vanilla(prompt: str, passes: int, decode: float, before: float = 0.0) -> Row:
    return Row(prompt, [0] * passes, [0] * passes, [1] * passes, seconds(decode, before))


# Prompt a: 3 passes, K = 4, the last cut short by the end token: 5 + 1 + 2 = 8 tokens, 9 with the first.
# Prompt b: 1 pass, K = 2 by the limit: 2 tokens, 3 with the first.
A = Row("a", kept=[4, 0, 2], drafted=[4, 4, 4], committed=[5, 1, 2], seconds=seconds(2.0, before=1.0))
B = Row("b", kept=[1], drafted=[2], committed=[2], seconds=seconds(1.0, before=2.0))
VANILLA = [vanilla("a", 8, decode=8.0, before=1.0), vanilla("b", 2, decode=1.0, before=1.0)]
FIRST_TOKEN_ONLY = Row("c", [], [], [], seconds(0.0, before=1.0))


def test_headline_counts_committed_tokens_without_the_first_per_pass_pooled():
    assert accept_length([A, B]).pooled == pytest.approx((8 + 2) / (3 + 1))
    assert accept_length([A, B]).accepted == pytest.approx(1.5)


def test_mean_per_sample_weighs_every_answer_alike():
    assert accept_length([A, B]).mean_per_sample == pytest.approx((8 / 3 + 2 / 1) / 2)


def test_slot_acceptance_joint_and_conditional():
    measured = accept_length([A, B])
    # kept 4, 0, 2 of four slots and 1 of two slots
    assert measured.joint == pytest.approx((3 / 4, 2 / 4, 1 / 3, 1 / 3))
    assert measured.conditional == pytest.approx((3 / 4, 2 / 3, 1 / 2, 1 / 1))


def test_flashsd_conventions():
    measured = accept_length([A, B])
    assert measured.flashsd_steps == pytest.approx((9 + 3) / (3 + 1))
    assert measured.flashsd_idx == pytest.approx((9 + 3) / (2 + 0))


def test_vanilla_has_accept_length_one():
    measured = accept_length(VANILLA)
    assert (measured.pooled, measured.accepted, measured.mean_per_sample) == (1, 0, 1)
    assert measured.joint == measured.conditional == ()


def test_an_answer_of_one_token_adds_no_pass():
    assert accept_length([A, B, FIRST_TOKEN_ONLY]).pooled == accept_length([A, B]).pooled
    assert math.isnan(accept_length([FIRST_TOKEN_ONLY]).pooled)
    assert math.isnan(accept_length([FIRST_TOKEN_ONLY]).mean_per_sample)


def test_decode_speedup_in_every_convention():
    measured = speedup([A, B], VANILLA, DECODE)
    # seconds per token: a 2/8 against 8/8, b 1/2 against 1/2
    assert measured.pooled == pytest.approx((9 / 10) / (3 / 10))
    assert measured.mean_of_ratios == pytest.approx((4 + 1) / 2)
    assert measured.ratio_of_means == pytest.approx(((8 / 2 + 2 / 1) / 2) / ((8 / 8 + 2 / 1) / 2))
    assert measured.geometric_mean == pytest.approx(math.sqrt(4 * 1))


def test_e2e_speedup_counts_every_phase_and_the_first_token():
    measured = speedup([A, B], VANILLA, E2E)
    # a: 3 s for 9 tokens against 9 s for 9; b: 3 s for 3 tokens against 2 s for 3
    assert measured.pooled == pytest.approx((11 / 12) / (6 / 12))
    assert measured.mean_of_ratios == pytest.approx((3 + 2 / 3) / 2)
    assert measured.ratio_of_means == pytest.approx(((9 / 3 + 3 / 3) / 2) / ((9 / 9 + 3 / 2) / 2))
    assert measured.geometric_mean == pytest.approx(math.sqrt(3 * 2 / 3))


def test_speedup_is_per_token_not_per_answer():
    """A method that stops after half the tokens in half the time is not faster."""
    half = Row("a", [0] * 4, [0] * 4, [1] * 4, seconds(4.0))
    assert speedup([half], [vanilla("a", 8, 8.0)], DECODE).pooled == pytest.approx(1)


def test_repeats_of_a_prompt_are_added_up_before_ratios():
    faster = Row("a", A.kept, A.drafted, A.committed, seconds(1.0))
    measured = speedup([A, faster], [vanilla("a", 8, 8.0)] * 2, DECODE)
    assert measured.mean_of_ratios == measured.pooled == pytest.approx((16 / 16) / (3 / 16))


def test_prompts_that_end_with_the_first_token_count_end_to_end_only():
    baseline = [*VANILLA, FIRST_TOKEN_ONLY]
    ours = [A, B, FIRST_TOKEN_ONLY]
    assert speedup(ours, baseline, DECODE) == speedup([A, B], VANILLA, DECODE)
    assert speedup(ours, baseline, E2E).pooled == pytest.approx((12 / 13) / (7 / 13))
    assert math.isnan(speedup([FIRST_TOKEN_ONLY], [FIRST_TOKEN_ONLY], DECODE).pooled)


def test_rows_are_paired_by_prompt_whatever_their_order():
    assert speedup([B, A], VANILLA, DECODE) == speedup([A, B], VANILLA, DECODE)
    with pytest.raises(UserError, match="same prompts"):
        speedup([A], VANILLA, DECODE)


def test_speedup_is_accept_length_times_what_a_pass_costs():
    """R_decode = A · t_AR / (t_draft + t_verify + t_other), exactly, by definition of the two."""
    per_token = sum(row.within(DECODE)[0] for row in VANILLA) / 10
    per_pass = sum(row.within(DECODE)[0] for row in (A, B)) / 4
    assert speedup([A, B], VANILLA, DECODE).pooled == pytest.approx(
        accept_length([A, B]).pooled * per_token / per_pass)


def test_the_accept_length_of_two_prompts_has_students_interval():
    """A = 8/3 and 2/1, 10/4 pooled: the jackknife's error of its logarithm is half of ln(4/3)."""
    interval = accept_length_interval([A, B])
    half = 12.7062 * math.log(4 / 3) / 2
    assert (interval.low, interval.high) == pytest.approx((2.5 / math.exp(half), 2.5 * math.exp(half)), rel=1e-5)


def test_the_interval_of_a_position_is_that_of_its_sums():
    """Of prompt a 2 of 3 rounds kept the first position and 2 the second; of prompt b the one kept the first alone."""
    first, second, *_ = position_intervals([A, B])
    expected = [interval_of(np.array(sums), lambda total: total[..., 0] / total[..., 1])
                for sums in ([[2.0, 3], [1, 1]], [[2.0, 3], [0, 1]])]
    assert first == expected[0]
    assert math.isnan(second.low) and math.isnan(expected[1].low)
    assert len(position_intervals([A, B])) == 4
    assert position_intervals(VANILLA) == ()


def test_the_interval_is_paired():
    """Prompts differ a thousandfold in cost, the ratio never: the interval has no width."""
    costs = [10.0 ** power for power in range(-1, 3)]
    ours = [vanilla(str(number), 5, cost) for number, cost in enumerate(costs)]
    theirs = [vanilla(str(number), 5, 2 * cost) for number, cost in enumerate(costs)]
    interval = speedup_interval(ours, theirs, DECODE)
    assert (interval.low, interval.high) == pytest.approx((2, 2))


def test_the_interval_of_rows_is_that_of_their_sums():
    """So what tests/test_intervals.py shows of sums, 95 % coverage among it, holds for rows and their repeats."""
    ours, theirs = [A, B, A], [*VANILLA, VANILLA[0]]
    columns = np.array([[4.0, 16, 16, 16], [1, 2, 1, 2]])  # a twice, b once: seconds and tokens, ours and theirs
    expected = interval_of(columns, lambda sums: (sums[..., 2] / sums[..., 3]) / (sums[..., 0] / sums[..., 1]))
    assert speedup_interval(ours, theirs, DECODE) == expected


def test_geometric_mean():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4)


def test_rows_are_read_from_generations():
    done = Generation(ids=[5, 6, 7], kept=[1], drafted=[3], committed=[2])
    row = Row.of("a", done)
    assert (row.tokens, row.decode_tokens, row.passes) == (len(done.ids), 2, 1)


def test_windows_cover_the_phases_of_the_engine():
    assert E2E.phases == PHASES
    assert set(PHASES) - set(DECODE.phases) == {"vision", "prefill", "draft_prefill"}
