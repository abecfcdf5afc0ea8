"""Comparing results: what is paired, what the ratio is by hand, the verdict, and how bad input is told."""

import json
import math
import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flashbench.bench.answers import write_answers
from flashbench.bench.rows import write_rows
from flashbench.cli import main
from flashbench.compare import run_compare
from flashbench.compare.results import Result, read_result
from flashbench.compare.verdict import LEAST_PROMPTS, Verdict, compare, judge, time_ratio
from specflash.errors import UserError
from specflash.intervals import Interval, interval_ends
from tests.flashbench.scripted import row, scripted_rows, scripted_run

AT = datetime(2026, 1, 2, tzinfo=UTC)


def slower(rows, factor: float):
    return [{**one, "seconds": {phase: factor * took for phase, took in one["seconds"].items()}} for one in rows]


def many(prompts: int, factor: float = 1.0, noise: float = 0.0, seed: int = 0):
    """Rows of one method: 3 tokens in 1 + 2 seconds, slower by a factor and by noise of their own."""
    luck = np.random.default_rng(seed).lognormal(0, noise, prompts)
    return [row("drafty", f"p{number}", [1], {"prefill": factor * luck[number], "verify": 2 * factor * luck[number]})
            for number in range(prompts)]


def parquet(path, rows):
    write_rows(rows, path)
    return path


def jsonl(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


# --- reading -----------------------------------------------------------------------------------

def test_a_run_folder_and_its_rows_are_the_same_result(tmp_path):
    scripted_run(tmp_path)
    folder, file = (read_result(path) for path in (tmp_path, tmp_path / "bench" / "rows.parquet"))
    assert str(folder.methods) == str(file.methods)
    assert folder.methods["drafty"]["decode"]["instruct/p1"].tolist() == [3.0, 6]
    assert folder.methods["drafty"]["e2e"]["instruct/p1"].tolist() == [4.0, 7]


def test_the_outside_control_has_no_decode_time_of_its_own(tmp_path):
    scripted_run(tmp_path)
    assert set(read_result(tmp_path).methods["hf-generate"]) == {"e2e"}


def test_our_answer_file_gives_the_times_of_our_rows(tmp_path):
    scripted_run(tmp_path)
    write_answers(scripted_rows(), tmp_path, AT)
    answers, rows = (read_result(path).methods for path in (tmp_path / "answers-drafty.jsonl", tmp_path))
    assert str(answers) == str({"drafty": {"e2e": rows["drafty"]["e2e"]}})


def test_the_layouts_of_eagle_and_flashsd(tmp_path):
    eagle = jsonl(tmp_path / "eagle.jsonl", {"question_id": 81, "model_id": "ea", "choices": [
        {"turns": ["x", "y"], "idxs": [3, 4], "new_tokens": [10, 20], "wall_time": [1.0, 2.0]},
        {"turns": ["x", "y"], "idxs": [3, 4], "new_tokens": [11, 21], "wall_time": [1.5, 2.5]}]})
    flashsd = jsonl(tmp_path / "flashsd.jsonl", {
        "question_id": 81, "response": "x", "idx": 9, "new_tokens": 30, "wall_time": 2.0})
    assert read_result(eagle).methods["ea"]["e2e"]["81"].tolist() == [7.0, 62]
    assert read_result(flashsd).methods["flashsd"]["e2e"]["81"].tolist() == [2.0, 30]


@pytest.mark.parametrize(("name", "content", "said"), [
    ("none.jsonl", None, "no result at"),
    ("a.txt", "x", "expected a run folder"),
    ("a.jsonl", "", "has no answers"),
    ("a.jsonl", "{", "line 1: not an EAGLE or FlashSD answer"),
    ("a.jsonl", "[]\n", "line 1"),
    ("a.jsonl", '\n{"question_id": 1, "new_tokens": 3}\n', "line 2: not an EAGLE or FlashSD answer (no `wall_time`)"),
    ("a.jsonl", '{"question_id": 1, "choices": [{"new_tokens": ["3"], "wall_time": [1]}]}', "line 1"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 3, "wall_time": NaN}', "3 tokens in nan seconds"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 0, "wall_time": 1}', "0 tokens in 1.0 seconds"),
    ("a.parquet", "no parquet", "is no Parquet file"),
])
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, name, content, said, capsys):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit) as caught:
        main(["compare", str(path), str(path)])
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1


def test_other_tables_folders_and_empty_ones_are_named(tmp_path):
    pq.write_table(pa.table({"task": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(UserError, match="no column `sample`"):
        read_result(tmp_path / "other.parquet")
    with pytest.raises(UserError, match="has no rows"):
        read_result(parquet(tmp_path / "empty.parquet", []))
    with pytest.raises(UserError, match=r"no bench/rows\.parquet"):
        read_result(tmp_path)


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
    longer = [row("drafty", f"p{number}", [1, 1, 1], {"prefill": 1.0, "verify": 6.0}) for number in range(8)]
    decode, _ = compare(result(tmp_path, "a", many(8)), result(tmp_path, "b", longer), 0.03)
    assert (decode.ratio, decode.same_length) == (pytest.approx(1), 0)


def test_two_results_of_one_method_each_are_compared_under_both_names(tmp_path):
    (found,) = compare(
        read_result(jsonl(tmp_path / "base.jsonl", {"question_id": 1, "new_tokens": 4, "wall_time": 4.0})),
        read_result(jsonl(tmp_path / "sar.jsonl", {"question_id": 1, "new_tokens": 4, "wall_time": 1.0})), 0.03)
    assert (found.method, found.window, found.ratio) == ("base → sar", "e2e", 0.25)


def test_nothing_in_common_is_a_mistake(tmp_path):
    one, other = result(tmp_path, "a", many(1)), result(tmp_path, "b", [row("drafty", "q", [1], {"prefill": 1.0})])
    with pytest.raises(UserError, match="no prompt in common"):
        compare(one, other, 0.03)
    with pytest.raises(UserError, match=r"no method in common.*--method"):
        compare(Result("x", {"a": {}, "b": {}}), Result("y", {"c": {}}), 0.03)


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


def test_a_planted_slow_down_of_3_percent_is_found_by_the_command_at_the_prompts_it_asks_for(tmp_path, capsys):
    def sides(prompts: int, seed: int) -> list[str]:
        before, after = many(prompts, 1.0, noise=0.08, seed=seed), many(prompts, 1.03, noise=0.08, seed=seed + 1)
        return [str(parquet(tmp_path / f"{prompts}-{name}.parquet", rows))
                for name, rows in (("a", before), ("b", after))]

    def compared(paths: list[str]) -> int:
        with pytest.raises(SystemExit) as caught:
            main(["compare", *paths, "--tolerance", "0.03"])
        return caught.value.code

    assert compared(sides(20, seed=3)) == 0
    needed = [int(number) for number in re.findall(r"about (\d+) would", capsys.readouterr().out)]
    assert min(needed) > 20
    assert compared(sides(max(needed), seed=5)) == 1


def test_temperatures_and_targets_are_other_prompts(tmp_path):
    cold, warm = many(8), [{**one, "temperature": 0.7} for one in slower(many(8), 1.5)]
    one = result(tmp_path, "one", cold)
    both = result(tmp_path, "both", [*cold, *warm])
    assert [(found.prompts, found.left_out, found.ratio) for found in compare(one, both, 0.03)] == [(8, 8, 1.0)] * 2
    two = [*cold, *({**each, "target": "small"} for each in cold)]
    (decode, _) = compare(result(tmp_path, "two", two), result(tmp_path, "slow", slower(two, 2.0)), 0.03)
    assert (decode.prompts, decode.ratio) == (16, pytest.approx(2))


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
