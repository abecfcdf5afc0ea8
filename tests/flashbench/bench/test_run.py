"""The bench stage on a tiny target: what it writes, what it reuses, what it refuses."""

import json

import pytest

from flashbench.bench import measure, worker
from flashbench.bench.measure import measure_piece
from flashbench.bench.methods import draft_fingerprints, load_engine
from flashbench.bench.plan import make_plan
from flashbench.bench.prompts import bench_prompts, warmup_prompts
from flashbench.bench.results import Results
from flashbench.bench.rows import AGAIN, HF_GENERATE, PHASES, VANILLA, read_rows
from flashbench.bench.summary import summarise
from specflash.errors import UserError
from tests.flashbench.experiment import make_experiment

OURS = {VANILLA, "eagle", "specflash"}
METHODS = OURS | {AGAIN, HF_GENERATE}


def with_bench(settings, **change):
    return settings.model_copy(update={"bench": settings.bench.model_copy(update=change)})


def pieces_of(settings):
    (experiment,) = make_plan(settings)
    return experiment.pieces


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
    again = summarise(Results(pieces_of(settings), read_rows(settings.run / "bench" / "rows.parquet")), noise_band=9)
    assert again.items() <= summary.items()
    assert {(line["target"], line["task"], line["method"]) for line in summary["rows"]} == {
        ("llava-1.5", "captions", method) for method in OURS}


def test_every_methods_answers_are_written_for_the_speed_scripts(measured):
    settings, _ = measured
    folder = settings.run / "bench"
    assert {path.name for path in folder.glob("answers-*")} == {f"answers-{method}.jsonl" for method in METHODS}
    rows = {(row["method"], f"captions/{row['sample']}"): row for row in read_rows(folder / "rows.parquet")}
    for path in folder.glob("answers-*"):
        for answer in map(json.loads, path.read_text().splitlines()):
            row, (choice,) = rows[answer["model_id"], answer["question_id"]], answer["choices"]
            assert (choice["turns"], choice["new_tokens"]) == ([row["text"]], [row["tokens"]])


def test_the_outside_control_is_held_against_vanilla(measured):
    (control,) = measured[1]["controls"]
    assert (control["method"], control["answers"], control["refused"]) == (HF_GENERATE, 3, [])
    assert control["speedup_e2e"] > 0


def test_rows_say_what_was_really_used(measured):
    for row in read_rows(measured[0].run / "bench" / "rows.parquet"):
        assert (row["dtype"], row["attention"], row["device"], row["threads"]) == ("bfloat16", "sdpa_grouped", "cpu", 1)
        assert (row["max_new_tokens"], row["temperature"], row["top_p"], row["seed"]) == (10, 0, 1, 0)
        assert row["attempt"] == 0


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
    monkeypatch.setattr(worker, "load_whole_engine", lambda *_: pytest.fail("the target was loaded"))
    assert measure(settings) == summary


def test_only_what_a_kill_left_unfinished_is_measured(measured, monkeypatch):
    settings, summary = measured
    path = settings.run / "bench" / "rows.jsonl"
    whole = path.read_text()
    first, second, third = whole.splitlines(keepends=True)
    path.write_text(first + second + third[: len(third) // 2])
    asked = []
    monkeypatch.setattr(worker, "measure_piece",
                        lambda engine, piece, *rest: asked.append(piece.key) or measure_piece(engine, piece, *rest))
    again = measure(settings)
    assert asked == [json.loads(third)["key"]]
    assert path.read_text().startswith(first + second)
    assert [line["tokens"] for line in again["rows"]] == [line["tokens"] for line in summary["rows"]]


@pytest.mark.parametrize("change", [
    {"repeats": 2}, {"temperatures": (0.5,)}, {"seed": 1}, {"controls": ()}, {"noise_every": 0}, {"actors": 2}])
def test_rows_of_other_conditions_are_not_mixed_in(measured, change, monkeypatch):
    monkeypatch.setattr(worker, "Worker", lambda *_: (_ for _ in ()).throw(InterruptedError))
    monkeypatch.setattr(worker, "on_ray", lambda _: False)
    with pytest.raises(InterruptedError):
        measure(with_bench(measured[0], **change))


def test_warm_ups_are_other_prompts(measured):
    settings, _ = measured
    warm = {prompt.sample for prompt in warmup_prompts(settings)}
    assert len(warm) == 1
    assert not warm & {prompt.sample for prompt in bench_prompts(settings)}


def test_sampled_text_is_seeded_and_has_no_identity_to_vanilla(measured):
    settings = with_bench(measured[0], temperatures=(1.0,), repeats=2)
    engine, piece = load_engine(settings, "bfloat16"), pieces_of(settings)[0]
    (first, _), (second, _) = (measure_piece(engine, piece) for _ in range(2))
    assert [row["ids"] for row in first] == [row["ids"] for row in second]
    assert {row["identical"] for row in first} == {None}
    assert {row["method"] for row in first} == OURS | {AGAIN}
    vanilla, again = ([row["ids"] for row in first if row["method"] == name] for name in (VANILLA, AGAIN))
    assert vanilla[0] != vanilla[1]
    assert vanilla == again


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
