"""The answer files have the layout that the speed scripts of EAGLE and Spec-Bench read."""

import json
from datetime import UTC, datetime
from statistics import mean

import pytest

from flashbench.bench.answers import answer_lines, write_answers
from flashbench.bench.summary import summarise
from tests.flashbench.scripted import planned, row, scripted_rows

AT = datetime(2026, 1, 2, tzinfo=UTC)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def speed(path) -> float:
    """Mean over questions of new tokens per second of the first choice, as those scripts take it."""
    choices = [line["choices"][0] for line in read(path)]
    return mean(sum(choice["new_tokens"]) / sum(choice["wall_time"]) for choice in choices)


def test_a_line_by_hand():
    (line,) = answer_lines([row("drafty", "p1", [1, 0], {"prefill": 1.0, "verify": 2.0})], AT)
    assert len(line.pop("answer_id")) == 16
    assert line == {
        "question_id": "instruct/p1", "category": "instruct", "model_id": "drafty", "tstamp": AT.timestamp(),
        "choices": [{"index": 0, "turns": ["The answer of drafty."], "idxs": [1], "new_tokens": [4],
                     "wall_time": [3.0], "decoding_steps": [2], "accept_lengths": [2, 1]}]}


def test_an_answer_of_one_token_has_no_step():
    (line,) = answer_lines([row("drafty", "p1", [], {"prefill": 1.0})], AT)
    assert (line["choices"][0]["idxs"], line["choices"][0]["new_tokens"]) == ([0], [1])


def test_repeats_are_the_choices_of_one_line():
    rows = [row("drafty", "p1", [1], {"prefill": 1.0}, repeat=repeat) for repeat in range(3)]
    (line,) = answer_lines(rows, AT)
    assert [choice["index"] for choice in line["choices"]] == [0, 1, 2]


def test_the_speed_scripts_ratio_is_our_ratio_of_means(tmp_path):
    write_answers(scripted_rows(), tmp_path, AT)
    (ours,) = [line for line in summarise(planned(scripted_rows()), 0.1)["rows"] if line["method"] == "drafty"]
    ratio = speed(tmp_path / "answers-drafty.jsonl") / speed(tmp_path / "answers-vanilla.jsonl")
    assert ratio == pytest.approx(ours["speedup_e2e_ratio_of_means"])


def test_spec_benchs_mean_accepted_tokens_is_our_a(tmp_path):
    write_answers(scripted_rows(), tmp_path, AT)
    lengths = [length for line in read(tmp_path / "answers-drafty.jsonl")
               for length in line["choices"][0]["accept_lengths"]]
    assert mean(lengths) == 12 / 5


def test_one_file_per_method_and_none_of_a_method_that_is_gone(tmp_path):
    write_answers(scripted_rows(), tmp_path, AT)
    assert {path.name for path in tmp_path.iterdir()} == {
        "answers-vanilla.jsonl", "answers-drafty.jsonl", "answers-hf-generate.jsonl"}
    write_answers([row("vanilla", "p1", [0], {"verify": 1.0})], tmp_path, AT)
    assert [path.name for path in tmp_path.iterdir()] == ["answers-vanilla.jsonl"]


def test_temperatures_are_files_of_their_own_and_their_prompts_are_others(tmp_path):
    rows = [row("vanilla", "p1", [0], {"verify": 1.0}), row("vanilla", "p1", [0], {"verify": 1.0}, temperature=0.7)]
    write_answers(rows, tmp_path, AT)
    assert {path.name: read(path)[0]["question_id"] for path in tmp_path.iterdir()} == {
        "answers-vanilla-0.0.jsonl": "instruct/p1", "answers-vanilla-0.7.jsonl": "instruct/p1@0.7"}
