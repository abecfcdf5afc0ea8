"""Comparing results: what is paired, what the ratio is by hand, the verdict, and what is told beside it."""

import json
import math
import re

import numpy as np
import pytest

from flashbench.bench.rows import write_rows
from flashbench.compare import run_compare
from flashbench.compare.places import read_result
from flashbench.compare.results import Result, Series
from flashbench.compare.verdict import LEAST_PROMPTS, Verdict, compare, judge, time_ratio
from specflash.errors import UserError
from specflash.intervals import Interval, interval_ends
from tests.flashbench.compare.results import jsonl, many, parquet, slower
from tests.flashbench.scripted import row, scripted_rows, scripted_run

# --- pairing and the ratio ---------------------------------------------------------------------

def result(tmp_path, name, rows) -> Result:
    return read_result(parquet(tmp_path / f"{name}.parquet", rows))


def test_the_ratio_is_seconds_per_token_by_hand(tmp_path):
    """Before: 3 prompts of 3 s for 3 tokens. After: one of them took 6 s, so 12 s against 9 s."""
    after = many(3)
    after[0] = slower(after[:1], 2.0)[0]
    found = compare(result(tmp_path, "a", many(3)), result(tmp_path, "b", after), 0.03)
    assert [(one.window, one.ratio, one.prompts) for one in found] == [
        ("decode", pytest.approx(8 / 6), 3), ("e2e", pytest.approx(12 / 9), 3)]


def test_only_prompts_of_both_are_paired_whatever_their_order(tmp_path):
    found = compare(result(tmp_path, "a", many(8)), result(tmp_path, "b", slower(many(10)[::-1], 1.5)), 0.03)
    assert {(one.prompts, one.left_out) for one in found} == {(8, 2)}
    assert [one.ratio for one in found] == pytest.approx([1.5, 1.5])


def test_answers_of_another_length_are_seen_and_compared_per_token(tmp_path):
    short = [one | {"finish": "stop"} for one in many(8)]
    longer = [row("drafty", f"p{number}", [1, 1, 1], {"prefill": 1.0, "verify": 6.0}) for number in range(8)]
    decode, _ = compare(result(tmp_path, "a", short), result(tmp_path, "b", longer), 0.03)
    assert (decode.ratio, decode.same_length) == (pytest.approx(1), 0)


def test_two_results_of_one_method_each_are_compared_under_both_names(tmp_path):
    (found,) = compare(
        read_result(jsonl(tmp_path / "base.jsonl", {"question_id": 1, "new_tokens": 4, "wall_time": 4.0})),
        read_result(jsonl(tmp_path / "sar.jsonl", {"question_id": 1, "new_tokens": 4, "wall_time": 1.0})), 0.03)
    assert (found.method, found.window, found.ratio) == ("base → sar", "e2e", 0.25)


def test_a_prompt_counts_as_much_however_often_it_was_asked(tmp_path):
    """p0 once in 3 s, p1 three times in 6 s each, against 3 s each: (3 + 6) / (3 + 3)."""
    often = [*many(1), *(dict(slower(many(2)[1:], 2.0)[0], repeat=repeat) for repeat in range(3))]
    found = compare(result(tmp_path, "a", many(2)), result(tmp_path, "b", often), 0.03)
    assert [one.ratio for one in found] == pytest.approx([1.5, 1.5])
    assert {one.same_length for one in found} == {1.0}


def test_nothing_in_common_is_a_mistake(tmp_path):
    one, other = result(tmp_path, "a", many(1)), result(tmp_path, "b", [row("drafty", "q", [1], {"prefill": 1.0})])
    with pytest.raises(UserError, match="no prompt in common"):
        compare(one, other, 0.03)
    with pytest.raises(UserError, match=r"no method in common.*--method"):
        compare(Result("x", {Series("a"): {}, Series("b"): {}}), Result("y", {Series("c"): {}}), 0.03)


@pytest.mark.parametrize(("change", "said"), [
    ({"target": "other"}, "target tiny → other"), ({"temperature": 1.0}, r"temperature 0\.0 → 1\.0")])
def test_other_targets_and_temperatures_are_refused(change, said):
    same = {"method": "drafty", "target": "tiny", "temperature": 0.0}
    with pytest.raises(UserError, match=f"no results of the same work: {said}"):
        compare(Result("a", {Series(**same): {}}), Result("b", {Series(**same | change): {}}), 0.03)


def test_of_several_temperatures_each_meets_its_own(tmp_path):
    prompts = read_result(parquet(tmp_path / "rows.parquet", many(3))).series.popitem()[1]
    both = Result("both", {Series("drafty", "tiny", 0.0): prompts, Series("drafty", "tiny", 1.0): prompts})
    warm = Result("warm", {Series("drafty", None, 1.0): prompts})
    assert [one.method for one in compare(both, both, 0.03)] == [
        "drafty · T=0", "drafty · T=0", "drafty · T=1", "drafty · T=1"]
    assert {one.method for one in compare(both, warm, 0.03)} == {"drafty · T=1"}


def test_prompts_cut_at_another_limit_are_left_out_and_told(tmp_path, capsys):
    """Of 8 answers two go on where the first result's limit of 3 tokens cut them."""
    longer = many(8)
    for number in (2, 5):
        longer[number] = row("drafty", f"p{number}", [1, 1, 1], {"prefill": 1.0, "verify": 6.0})
    before, after = parquet(tmp_path / "a.parquet", many(8)), parquet(tmp_path / "b.parquet", longer)
    found = compare(read_result(before), read_result(after), 0.03)
    assert {(one.prompts, one.other_limit) for one in found} == {(6, 2)}
    run_compare([before, after], 0.03)
    assert "answered under another token limit and left out: 2 prompts" in capsys.readouterr().err
    with pytest.raises(UserError, match="cut every answer at other limits"):
        compare(result(tmp_path, "a", many(8)[2:3]), result(tmp_path, "b", longer[2:3]), 0.03)


def test_other_answers_at_temperature_0_are_told_by_prompt(tmp_path, capsys):
    scripted_run(tmp_path / "before")
    scripted_run(tmp_path / "after")
    changed = [one | {"ids": [9, *one["ids"][1:]]} if (one["method"], one["sample"]) == ("drafty", "p2") else one
               for one in scripted_rows()]
    write_rows(changed, tmp_path / "after" / "bench" / "rows.parquet")
    run_compare([tmp_path / "before", tmp_path / "after"], 0.03)
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [
        "drafty: 1 of 2 prompts got another answer at temperature 0 (instruct/p2)"]
    assert "50 %" in shown.out


def test_other_conditions_and_missing_methods_are_told(tmp_path, capsys):
    for name in ("before", "after"):
        scripted_run(tmp_path / name)
    summary = json.loads((tmp_path / "after" / "summary.json").read_text())
    summary["conditions"]["dtype"] = "float32"
    summary["fingerprint"]["machine"]["cpu"] = "slide rule"
    (tmp_path / "after" / "summary.json").write_text(json.dumps(summary))
    write_rows([one for one in scripted_rows() if one["method"] != "drafty"], tmp_path / "after/bench/rows.parquet")
    run_compare([tmp_path / "before", tmp_path / "after"], 0.03)
    assert capsys.readouterr().err.splitlines() == [
        f"not compared, for {tmp_path / 'after'} has no drafty",
        "measured under other conditions, which the ratios contain: dtype bfloat16 → float32; cpu abacus → slide rule"]


def test_one_prompt_is_compared_and_told_to_be_too_few(tmp_path, capsys):
    one = parquet(tmp_path / "rows.parquet", many(1))
    assert run_compare([one, one], 0.03)
    assert "1 prompt cannot tell" in capsys.readouterr().out


# --- the verdict -------------------------------------------------------------------------------

@pytest.mark.parametrize(("low", "high", "verdict"), [
    (0.98, 1.02, Verdict.FINE), (0.5, 0.6, Verdict.FINE), (1.01, 1.02, Verdict.FINE),
    (1.01, 1.05, Verdict.REGRESSION), (1.2, 1.3, Verdict.REGRESSION),
    (0.99, 1.04, Verdict.UNCLEAR), (1.0, 1.03, Verdict.UNCLEAR)])
def test_the_verdict_follows_from_the_interval(low, high, verdict):
    assert judge(Interval(low, high), 100, 0.03)[0] is verdict


def test_what_cannot_be_told_names_the_prompts_it_needs():
    """Twice as wide as 1 … 1.03 in the log, so four times the prompts."""
    assert judge(Interval(1 / 1.03, 1.03), 100, 0.03) == (Verdict.UNCLEAR, 401)


def test_too_few_prompts_never_judge():
    assert judge(Interval(2.0, 2.0), LEAST_PROMPTS - 1, 0.03) == (Verdict.UNCLEAR, LEAST_PROMPTS)
    assert judge(Interval(2.0, 2.0), LEAST_PROMPTS, 0.03) == (Verdict.REGRESSION, None)


def verdicts(prompts: int, seed: int) -> list[tuple[Verdict, int | None]]:
    """Of 200 experiments with a planted slow-down of 3 %, each side with a noise of 8 %."""
    theirs, ours = np.random.default_rng(seed).lognormal(0, 0.08, (2, 200, prompts))
    tokens = np.full_like(ours, 2.0)
    columns = np.stack([1.03 * ours, tokens, theirs, tokens], axis=-1)
    return [judge(Interval(*ends), prompts, 0.03) for ends in interval_ends(columns, time_ratio).T]


def test_a_planted_slow_down_is_found_at_the_prompts_the_verdict_asks_for():
    """One pilot of 20 may ask for too few by luck, so it is the median pilot that has to be right."""
    asked = [needed for verdict, needed in verdicts(20, seed=1) if verdict is Verdict.UNCLEAR]
    assert len(asked) > 100
    found = [verdict for verdict, _ in verdicts(int(np.median(asked)), seed=2)]
    assert found.count(Verdict.REGRESSION) >= 0.9 * 200


# --- the verb ----------------------------------------------------------------------------------

@pytest.mark.parametrize(("factor", "good"), [(1.0, True), (0.5, True), (1.02, True), (1.1, False)])
def test_a_regression_fails(tmp_path, factor, good, capsys):
    before, after = (parquet(tmp_path / f"{name}.parquet", many(8, by)) for name, by in (("a", 1.0), ("b", factor)))
    assert run_compare([before, after], tolerance=0.03) is good
    assert capsys.readouterr().out.count("│ no regression │") == (2 if good else 0)  # decode and e2e


def test_a_wide_interval_passes_unless_strict_and_says_what_it_needs(tmp_path, capsys):
    before, after = (parquet(tmp_path / f"{seed}.parquet", many(8, noise=0.3, seed=seed)) for seed in (1, 2))
    assert run_compare([before, after], tolerance=0.03)
    assert not run_compare([before, after], tolerance=0.03, strict=True)
    shown = capsys.readouterr().out
    assert "8 prompts cannot tell a slow-down of 3 % from none; about" in shown
    assert re.search(r"\d \[\d\.\d{3}, \d\.\d{3}\]", shown)


def test_every_later_result_is_held_against_the_first(tmp_path):
    good, bad = (parquet(tmp_path / f"{name}.parquet", many(8, by)) for name, by in (("good", 1.0), ("bad", 1.5)))
    assert run_compare([good, good, good], tolerance=0.03)
    assert not run_compare([good, good, bad], tolerance=0.03)
    assert run_compare([bad, good], tolerance=0.03)


def test_one_method_can_be_chosen(tmp_path):
    seconds = {"prefill": 1.0, "verify": 1.0}
    rows = [one for number in range(8) for one in (
        row("vanilla", f"p{number}", [0], seconds), row("drafty", f"p{number}", [1], seconds))]
    worse = [slower([one], 2.0)[0] if one["method"] == "drafty" else one for one in rows]
    before, after = (parquet(tmp_path / f"{name}.parquet", some) for name, some in (("a", rows), ("b", worse)))
    assert run_compare([before, after], 0.03, "vanilla")
    assert not run_compare([before, after], 0.03, "drafty")
    with pytest.raises(UserError, match="no method `eagle`; it has vanilla, drafty"):
        run_compare([before, after], 0.03, "eagle")


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -0.1, math.nan])
def test_a_tolerance_is_a_share(tmp_path, tolerance):
    with pytest.raises(UserError, match="--tolerance"):
        run_compare([tmp_path, tmp_path], tolerance)


def test_one_result_is_not_a_comparison(tmp_path):
    with pytest.raises(UserError, match="two results"):
        run_compare([tmp_path], 0.03)
