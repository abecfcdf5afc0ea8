"""The bench stage on a tiny target: what it writes, what it reuses, what it refuses."""

import json

import pytest

from flashbench.bench import measure
from flashbench.bench import run as bench_run
from flashbench.bench.measure import measure_prompt, shuffled_methods
from flashbench.bench.methods import draft_fingerprints, load_engine
from flashbench.bench.prompts import bench_prompts, warmup_prompts
from flashbench.bench.rows import HF_GENERATE, PHASES, VANILLA, read_rows
from flashbench.bench.summary import summarise
from specflash.errors import UserError
from tests.flashbench.experiment import make_experiment

METHODS = {VANILLA, "eagle", "specflash", HF_GENERATE}


def test_every_prompt_is_answered_once_by_every_method(measured):
    settings, _ = measured
    rows = read_rows(settings.run / "bench" / "rows.parquet")
    assert len(rows) == 3 * len(METHODS)
    assert {(row["sample"], row["method"]) for row in rows} == {
        (prompt.sample, method) for prompt in bench_prompts(settings) for method in METHODS}


def test_rows_account_for_every_token_and_second(measured):
    for row in read_rows(measured[0].run / "bench" / "rows.parquet"):
        assert row["tokens"] == len(row["ids"]) == 1 + sum(row["committed"]) <= 10
        assert len(row["kept"]) == len(row["drafted"]) == len(row["committed"])
        assert set(row["seconds"]) == set(PHASES)
        assert sum(row["seconds"].values()) > 0


def test_the_summary_is_that_of_the_rows_to_the_last_digit(measured):
    settings, summary = measured
    assert json.loads((settings.run / "summary.json").read_text()) == summary
    assert summarise(read_rows(settings.run / "bench" / "rows.parquet")) == summary["rows"]
    assert {(line["target"], line["task"], line["method"]) for line in summary["rows"]} == {
        ("llava-1.5", "captions", method) for method in METHODS - {HF_GENERATE}}


def test_every_methods_answers_are_written_for_the_speed_scripts(measured):
    settings, _ = measured
    folder = settings.run / "bench"
    assert {path.name for path in folder.glob("answers-*")} == {f"answers-{method}.jsonl" for method in METHODS}
    rows = {(row["method"], f"captions/{row['sample']}"): row for row in read_rows(folder / "rows.parquet")}
    for path in folder.glob("answers-*"):
        for answer in map(json.loads, path.read_text().splitlines()):
            row, (choice,) = rows[answer["model_id"], answer["question_id"]], answer["choices"]
            assert (choice["turns"], choice["new_tokens"]) == ([row["text"]], [row["tokens"]])


def test_vanilla_keeps_pace_with_the_library(measured):
    (control,) = measured[1]["control"]
    assert control["answers"] == 3
    assert control["vanilla_over_hf"] > 0


def test_the_shown_prompts_have_text_and_a_picture(measured):
    settings, _ = measured
    rows = read_rows(settings.run / "bench" / "rows.parquet")
    shown = [row for row in rows if row["pieces"]]
    engine = load_engine(settings, "bfloat16")
    assert len(shown) == 2 * len(METHODS)
    for row in shown:
        assert len(row["pieces"]) == row["tokens"]
        assert "".join(row["pieces"]) == engine.target.decode(row["ids"]).rstrip("\N{REPLACEMENT CHARACTER}")
    pictures = json.loads((settings.run / "bench" / "pictures.json").read_text())
    assert set(pictures) == {f"captions/{row['sample']}" for row in shown}


def test_finished_prompts_are_not_measured_again(measured, monkeypatch):
    settings, summary = measured
    monkeypatch.setattr(bench_run, "load_engine", lambda *_: pytest.fail("the target was loaded"))
    assert measure(settings) == summary


def test_only_what_a_kill_left_unfinished_is_measured(measured, monkeypatch):
    settings, summary = measured
    path = settings.run / "bench" / "rows.jsonl"
    whole = path.read_text()
    first, second, third = whole.splitlines(keepends=True)
    path.write_text(first + second + third[: len(third) // 2])
    asked = []
    monkeypatch.setattr(bench_run, "measure_prompt",
                        lambda engine, prompt, *rest: asked.append(prompt.key) or measure_prompt(engine, prompt, *rest))
    again = measure(settings)
    assert asked == [json.loads(third)["key"]]
    assert path.read_text().startswith(first + second)
    assert [line["tokens"] for line in again["rows"]] == [line["tokens"] for line in summary["rows"]]


@pytest.mark.parametrize("change", [{"repeats": 2}, {"temperature": 0.5}, {"seed": 1}])
def test_rows_of_other_conditions_are_not_mixed_in(measured, change, monkeypatch):
    settings, _ = measured
    other = settings.model_copy(update={"bench": settings.bench.model_copy(update=change)})
    monkeypatch.setattr(bench_run, "load_engine", lambda *_: (_ for _ in ()).throw(InterruptedError))
    with pytest.raises(InterruptedError):
        measure(other)


def test_methods_run_in_another_order_for_other_prompts_and_in_the_same_when_repeated(measured):
    engine = load_engine(measured[0], "float32")
    orders = [shuffled_methods(engine, measured[0].bench, str(prompt)) for prompt in range(20)]
    assert all(set(order) == METHODS for order in orders)
    assert {order[0] for order in orders} == METHODS
    assert orders == [shuffled_methods(engine, measured[0].bench, str(prompt)) for prompt in range(20)]


def test_warm_ups_are_other_prompts(measured):
    settings, _ = measured
    warm = {prompt.sample for prompt in warmup_prompts(settings)}
    assert len(warm) == 1
    assert not warm & {prompt.sample for prompt in bench_prompts(settings)}


def test_sampled_text_is_seeded_and_has_no_identity_to_vanilla(measured):
    settings, _ = measured
    bench = settings.bench.model_copy(update={"temperature": 1.0, "repeats": 2})
    engine, prompt = load_engine(settings, "float32"), bench_prompts(settings)[0]
    first, second = (measure_prompt(engine, prompt, bench, shown=False) for _ in range(2))
    assert [row["ids"] for row in first] == [row["ids"] for row in second]
    assert {row["identical"] for row in first} == {None}
    assert {row["method"] for row in first} == METHODS - {HF_GENERATE}
    vanilla = [row["ids"] for row in first if row["method"] == VANILLA]
    assert vanilla[0] != vanilla[1]


def test_a_draft_of_other_settings_or_a_broken_one_is_not_measured(tmp_path):
    settings = make_experiment(tmp_path)
    with pytest.raises(UserError, match=r"other settings than drafts.eagle \(k 3 → 2\)"):
        measure(settings.model_copy(update={"drafts": {**settings.drafts, "eagle": {"k": 2, "head_dim": 16}}}))
    (settings.draft_folder("eagle") / "config.json").unlink()
    with pytest.raises(UserError, match=r"eagle: config.json is missing"):
        measure(settings)


def test_a_default_that_is_written_out_is_the_same_setting(measured):
    settings, _ = measured
    drafts = {**settings.drafts, "eagle": {**settings.drafts["eagle"], "inner": 0, "k": "3"}}
    assert draft_fingerprints(settings.model_copy(update={"drafts": drafts})) == draft_fingerprints(settings)


def test_a_draft_that_was_not_trained_is_named(tmp_path):
    settings = make_experiment(tmp_path)
    (settings.draft_folder("eagle") / "model.safetensors").unlink()
    with pytest.raises(UserError, match="specflash train --draft eagle"):
        measure(settings)
