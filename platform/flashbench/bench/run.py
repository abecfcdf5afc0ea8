"""The bench stage: measure what is missing, then rows → Parquet → summary.json.

It knows when to measure and where results lie; how to time is in measure.py, what the numbers
mean in summary.py.
"""

import gc
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from flashbench.bench.answers import write_answers
from flashbench.bench.measure import measure_prompt, thumbnail, warm_up
from flashbench.bench.methods import Engine, conditions_fingerprint, draft_fingerprints, load_engine
from flashbench.bench.prompts import BenchPrompt, bench_prompts, warmup_prompts
from flashbench.bench.rows import write_rows
from flashbench.bench.summary import control, overall, summarise
from flashbench.bench.table import show_summary
from flashbench.console import note, progress
from flashbench.fingerprint import describe_code, describe_machine, digest, load_average
from flashbench.journal import Journal, Record, write_json
from flashbench.lock import sole_writer
from flashbench.settings import Settings, save_settings
from flashbench.track import log_comparison
from specflash.targets import target_fingerprint

SHOWN_PER_TASK = 2
FORMAT = 1
Summary = dict[str, Any]


def run_bench(settings: Settings) -> Summary:
    """Measure, then write the report and the MLflow runs."""
    summary = measure(settings)
    show_summary(summary)
    for line in publish(settings, summary):
        note(f"not recorded in MLflow: {line}")
    return summary


def measure(settings: Settings) -> Summary:
    """Time every prompt that has no finished rows yet and write `bench/rows.parquet` and `summary.json`.

    Killed at any moment, it goes on with the first unfinished prompt when called again.
    """
    with sole_writer(settings.run / "bench", "bench"):
        return _measure_missing(settings)


def _measure_missing(settings: Settings) -> Summary:
    prompts = bench_prompts(settings)
    journal = Journal(settings.run / "bench" / "rows.jsonl")
    conditions = _conditions(settings)
    missing = [prompt for prompt in prompts if journal.find(prompt.key, _fingerprint(conditions, prompt)) is None]
    if missing:
        _measure(settings, missing, journal, lambda prompt: _fingerprint(conditions, prompt))
    reused = len(prompts) - len(missing)
    if reused:
        note(f"bench: {reused} of {len(prompts)} prompts were measured before under the same conditions; reused")
    records = [journal.get(prompt.key, _fingerprint(conditions, prompt)) for prompt in prompts]
    return _write(settings, records)


def publish(settings: Settings, summary: Summary) -> list[str]:
    """Render the report, then log it to MLflow; returns what MLflow did not take."""
    # The report needs matplotlib, the measurement must not.
    from dashboards.report import render_report
    report = settings.run / "report.html"
    render_report(settings.run, report)
    return log_comparison(settings, summary, report, settings.run / "figures")


def _measure(settings: Settings, prompts: list[BenchPrompt], journal: Journal,
             fingerprint: Callable[[BenchPrompt], str]) -> None:
    bench, code = settings.bench, describe_code(settings)
    engine = load_engine(settings, settings.target.dtype)
    for prompt in warmup_prompts(settings):
        warm_up(engine, prompt, bench)
    shown = _first_of_each_task(bench_prompts(settings))
    with progress("bench", len(prompts)) as advance:
        for prompt in prompts:
            journal.add(_measured(engine, prompt, settings, prompt.key in shown)
                        | {"fingerprint": fingerprint(prompt), "code": code})
            advance()
    del engine
    gc.collect()


def _measured(engine: Engine, prompt: BenchPrompt, settings: Settings, shown: bool) -> Record:
    load = load_average()
    rows = measure_prompt(engine, prompt, settings.bench, shown)
    return {"key": prompt.key, "rows": rows, "picture": thumbnail(prompt) if shown else None,
            "load": load, "device": engine.target.device.type,
            "at": datetime.now(UTC).isoformat(timespec="seconds")}


def _first_of_each_task(prompts: Iterable[BenchPrompt]) -> set[str]:
    """The prompts whose text and picture the report shows."""
    by_task: dict[str, list[str]] = {}
    for prompt in prompts:
        by_task.setdefault(prompt.task, []).append(prompt.key)
    return {key for keys in by_task.values() for key in keys[:SHOWN_PER_TASK]}


def _conditions(settings: Settings) -> Record:
    """Everything a measured time depends on besides the prompt."""
    bench = settings.bench
    return {"engine": conditions_fingerprint(settings, settings.target.dtype),
            "drafts": draft_fingerprints(settings), "machine": describe_machine(),
            "temperature": bench.temperature, "repeats": bench.repeats, "warmups": bench.warmups,
            "seed": bench.seed, "hf_control": bench.hf_control}


def _fingerprint(conditions: Record, prompt: BenchPrompt) -> str:
    return digest([conditions, prompt.max_new_tokens, prompt.out_of_domain])


def _write(settings: Settings, records: list[Record]) -> Summary:
    rows = [row for record in records for row in record["rows"]]
    write_rows(rows, settings.run / "bench" / "rows.parquet")
    write_answers(rows, settings.run / "bench", datetime.fromisoformat(records[-1]["at"]))
    pictures = {record["key"]: record["picture"] for record in records if record["picture"]}
    write_json(settings.run / "bench" / "pictures.json", pictures)
    bench, last = settings.bench, records[-1]
    summary = {
        "format": FORMAT, "name": settings.name, "target": settings.target.name,
        "measured_at": last["at"], "quotable": settings.quotable,
        "claim_level": f"measured on {'GPU' if last['device'] == 'cuda' else 'CPU'}",
        "conditions": {"dtype": settings.target.dtype, "temperature": bench.temperature,
                       "repeats": bench.repeats, "warmups": bench.warmups, "seed": bench.seed,
                       "threads": settings.threads, "device": last["device"]},
        "rows": summarise(rows), "overall": overall(rows), "control": control(rows),
        "fingerprint": {
            "machine": describe_machine(), "code": last["code"],
            "target": target_fingerprint(settings.target.name, settings.target.weights),
            "drafts": draft_fingerprints(settings),
            "load": {"before": records[0]["load"], "after": last["load"],
                     "highest": max(record["load"] for record in records)}},
        "result": digest(rows)}
    write_json(settings.run / "summary.json", summary)
    save_settings(settings, settings.run / "bench" / "settings.yaml")
    return summary
