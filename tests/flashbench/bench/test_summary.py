"""The summary's numbers, against values computed by hand from scripted rows."""

import math

import pytest

from flashbench.bench.rows import read_rows, write_rows
from flashbench.bench.summary import summarise
from tests.flashbench.scripted import planned, row, scripted_rows


def summary(rows=None) -> dict:
    return summarise(planned(rows or scripted_rows()), noise_band=0.1)


def line(method: str, rows=None) -> dict:
    return next(line for line in summary(rows)["rows"] if line["method"] == method)


def test_accept_length_is_tokens_per_pass_pooled():
    assert line("drafty")["accept_length"] == 12 / 5
    assert line("drafty")["accept_length_mean"] == (6 / 3 + 6 / 2) / 2
    assert line("vanilla")["accept_length"] == 1


def test_speedup_is_a_ratio_of_seconds_per_token():
    drafty = line("drafty")
    assert drafty["speedup_decode"] == pytest.approx((12 / 12) / (5 / 12), rel=1e-15)
    assert drafty["speedup_decode_mean_of_ratios"] == pytest.approx((6 / 3 + 6 / 2) / 2)
    assert drafty["speedup_e2e"] == pytest.approx((14 / 14) / (7 / 14))


def test_intervals_are_those_of_two_prompts():
    """2.4 pooled of 2 and 3: the jackknife's error is half of ln(3/2), and Student's quantile of 1 is 12.7062."""
    half = 12.7062 * math.log(3 / 2) / 2
    expected = (2.4 / math.exp(half), 2.4 * math.exp(half))
    assert line("drafty")["speedup_decode_interval"] == pytest.approx(expected, rel=1e-5)
    assert line("vanilla")["speedup_decode_interval"] == pytest.approx([1, 1])


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
    assert drafty["speedup_decode_predicted"] == pytest.approx(2.4 * 1 / (5 / 5))
    assert abs(drafty["speedup_decode_deviation"]) < 1e-12


def test_a_control_has_no_line_among_the_methods_but_one_of_its_own():
    assert [line["method"] for line in summary()["rows"]] == ["vanilla", "drafty"]
    (only,) = summary()["controls"]
    assert (only["method"], only["prompts"]) == ("hf-generate", 2)
    assert only["speedup_e2e"] == pytest.approx(14 / 21)
    assert (only["identical_share"], only["tie_share"]) == (0.5, 0.5)


def test_a_control_on_some_prompts_is_held_against_vanilla_on_the_same():
    rows = [one for one in scripted_rows() if (one["method"], one["sample"]) != ("hf-generate", "p1")]
    (only,) = summary(rows)["controls"]
    assert (only["prompts"], only["speedup_e2e"]) == (1, pytest.approx(1))


def test_repeats_are_told_apart():
    """The second repeat of the draft takes twice as long: R is 2.4, then 1.2, and 1.6 pooled."""
    slow = [{**one, "repeat": 1, "seed": 1, "seconds": {phase: took * (2 if one["method"] == "drafty" else 1)
                                                         for phase, took in one["seconds"].items()}}
            for one in scripted_rows()]
    drafty = line("drafty", [*scripted_rows(), *slow])
    assert drafty["speedup_decode_by_repeat"] == pytest.approx([2.4, 1.2])
    assert drafty["speedup_decode_spread"] == pytest.approx([1.2, 2.4])
    assert drafty["speedup_decode"] == pytest.approx(1.6)


def test_temperatures_and_targets_have_lines_of_their_own():
    warm = [{**one, "temperature": 0.7, "identical": None, "tie": None} for one in scripted_rows()
            if one["method"] != "hf-generate"]
    lines = summary([*scripted_rows(), *warm])["rows"]
    assert [(one["temperature"], one["label"], one["method"]) for one in lines] == [
        (0.0, "instruct · T = 0", "vanilla"), (0.0, "instruct · T = 0", "drafty"),
        (0.7, "instruct · T = 0.7", "vanilla"), (0.7, "instruct · T = 0.7", "drafty")]
    other = [{**one, "target": "small"} for one in scripted_rows()]
    assert [one["label"] for one in summary([*scripted_rows(), *other])["overall"]] == [
        "all in domain · tiny", "all in domain · tiny", "all in domain · small", "all in domain · small"]


def test_the_geometric_mean_over_tasks_weighs_every_task_alike():
    """R e2e is 2 on one task; the other, where all of the draft's time doubles, has 1."""
    slow = [{**one, "task": "captions", "seconds": {phase: took * (2 if one["method"] == "drafty" else 1)
                                                     for phase, took in one["seconds"].items()}}
            for one in scripted_rows()]
    pooled = {line["method"]: line for line in summary([*scripted_rows(), *slow])["overall"]}["drafty"]
    assert pooled["speedup_e2e_geomean"] == pytest.approx(2 ** 0.5)
    assert pooled["speedup_e2e"] == pytest.approx((28 / 28) / (21 / 28))


def test_tasks_out_of_domain_stay_out_of_the_overall_line():
    far = [{**one, "task": "photographs", "out_of_domain": True} for one in scripted_rows()]
    near = [{**one, "task": "captions"} for one in scripted_rows()]
    pooled = {line["method"]: line for line in summary([*scripted_rows(), *near, *far])["overall"]}
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
    assert summary(read_rows(tmp_path / "rows.parquet")) == summary()
