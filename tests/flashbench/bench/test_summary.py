"""The summary's numbers, against values computed by hand from scripted rows."""

import pytest

from flashbench.bench.rows import read_rows, write_rows
from flashbench.bench.summary import control, overall, summarise
from tests.flashbench.scripted import row, scripted_rows


def line(method: str, rows=None) -> dict:
    return next(line for line in summarise(rows or scripted_rows()) if line["method"] == method)


def test_accept_length_is_tokens_per_pass_pooled():
    assert line("drafty")["accept_length"] == 12 / 5
    assert line("drafty")["accept_length_mean"] == (6 / 3 + 6 / 2) / 2
    assert line("vanilla")["accept_length"] == 1


def test_speedup_is_a_ratio_of_seconds_per_token():
    drafty = line("drafty")
    assert drafty["speedup_decode"] == pytest.approx((12 / 12) / (5 / 12), rel=1e-15)
    assert drafty["speedup_decode_mean_of_ratios"] == pytest.approx((6 / 3 + 6 / 2) / 2)
    assert drafty["speedup_e2e"] == pytest.approx((14 / 14) / (7 / 14))


def test_intervals_enclose_the_value_and_stay_between_the_extreme_prompts():
    low, high = line("drafty")["speedup_decode_interval"]
    assert low == pytest.approx(2)
    assert high == pytest.approx(3)
    assert line("vanilla")["speedup_decode_interval"] == [1, 1]


def test_acceptance_by_position_counts_kept_prefixes():
    assert line("drafty")["acceptance_by_position"] == [5 / 5, 2 / 5]
    assert line("vanilla")["acceptance_by_position"] == []


def test_identical_share_counts_answers():
    assert line("drafty")["identical_share"] == 0.5
    assert line("vanilla")["identical_share"] == 1


def test_identity_is_not_claimed_for_sampled_text():
    rows = [{**row, "identical": None} for row in scripted_rows()]
    assert line("drafty", rows)["identical_share"] is None


def test_latencies():
    drafty = line("drafty")
    assert drafty["ttft_ms"] == 1000
    assert drafty["tpot_ms"] == pytest.approx(1000 * 5 / 12)
    assert drafty["output_tps"] == 14 / 7
    assert drafty["seconds_per_round"] == {"draft": 1 / 5, "verify": 3.5 / 5, "other": 0.5 / 5}


def test_decode_speedup_follows_from_accept_length_and_the_cost_of_a_round():
    drafty = line("drafty")
    assert drafty["speedup_decode_predicted"] == pytest.approx(2.4 * 1 / (4.5 / 5))
    assert drafty["speedup_decode_deviation"] == pytest.approx(5 / 4.5 - 1)  # the half second of `other`


def test_the_control_has_no_line_among_the_methods():
    assert [line["method"] for line in summarise(scripted_rows())] == ["vanilla", "drafty"]


def test_the_control_says_how_much_faster_our_vanilla_is():
    (only,) = control(scripted_rows())
    assert only["vanilla_over_hf"] == pytest.approx(21 / 14)
    assert only["identical_share"] == 0.5


def test_tasks_out_of_domain_stay_out_of_the_overall_line():
    far = [{**one, "task": "photographs", "out_of_domain": True} for one in scripted_rows()]
    near = [{**one, "task": "captions"} for one in scripted_rows()]
    pooled = {line["method"]: line for line in overall([*scripted_rows(), *near, *far])}
    assert pooled["drafty"]["prompts"] == 4
    assert pooled["drafty"]["speedup_decode_geomean"] == pytest.approx(2.4)


def test_an_answer_of_one_token_has_no_decode_speed():
    rows = [row("vanilla", "p", [], {"prefill": 1.0}), row("drafty", "p", [], {"prefill": 2.0})]
    drafty = line("drafty", rows)
    assert drafty["speedup_decode"] is None
    assert drafty["accept_length"] is None
    assert drafty["tpot_ms"] is None
    assert drafty["speedup_e2e"] == 0.5


def test_the_parquet_file_gives_the_same_summary_to_the_last_digit(tmp_path):
    write_rows(scripted_rows(), tmp_path / "rows.parquet")
    assert summarise(read_rows(tmp_path / "rows.parquet")) == summarise(scripted_rows())
