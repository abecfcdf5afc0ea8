"""The bench stage: measure what is missing, then rows → Parquet → summary.json.

It knows when to measure and where results lie; who measures is in worker.py, how to time in measure.py,
what the numbers mean in summary.py.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flashbench.bench.answers import write_answers
from flashbench.bench.goals import goal_lines
from flashbench.bench.methods import conditions_fingerprint, draft_fingerprints
from flashbench.bench.plan import Experiment, Piece, make_plan
from flashbench.bench.results import Results
from flashbench.bench.rows import prompt_of, write_rows
from flashbench.bench.summary import summarise
from flashbench.bench.table import show_summary
from flashbench.bench.worker import measured
from flashbench.console import note, progress
from flashbench.fingerprint import describe_code, describe_machine, digest
from flashbench.journal import Journal, Record, write_json
from flashbench.lock import sole_writer
from flashbench.settings import Settings, save_settings
from flashbench.track import log_comparison
from specflash.targets import target_fingerprint
from specflash.targets.folder import folder_fingerprint

FORMAT = 2
Summary = dict[str, Any]


@dataclass(frozen=True)
class Planned:
    """An experiment, and the hash of what its times depend on besides the piece."""

    experiment: Experiment
    conditions: str

    def fingerprint(self, piece: Piece) -> str:
        prompt = piece.prompt
        return digest([self.conditions, piece.temperature, sorted(piece.methods), piece.repeats, piece.seed,
                       piece.shown, prompt.max_new_tokens, prompt.out_of_domain])


def run_bench(settings: Settings) -> bool:
    """Measure, then write the report and the MLflow runs; returns whether every comparison is valid."""
    summary = measure(settings)
    show_summary(summary)
    for line in publish(settings, summary):
        note(f"not recorded in MLflow: {line}")
    return summary["valid"]


def measure(settings: Settings) -> Summary:
    """Time every prompt that has no finished rows yet and write `bench/rows.parquet` and `summary.json`.

    Killed at any moment, it goes on with the first unfinished prompt when called again; of a prompt on which a
    method failed, that method alone is tried again.
    """
    with sole_writer(settings.run / "bench", "bench"):
        return _measure_missing(settings)


def publish(settings: Settings, summary: Summary) -> list[str]:
    """Render the report, then log it to MLflow; returns what MLflow did not take."""
    # The report needs matplotlib, the measurement must not.
    from dashboards.report import render_report
    report = settings.run / "report.html"
    render_report(settings.run, report)
    return log_comparison(settings, summary, report, settings.run / "figures")


def _measure_missing(settings: Settings) -> Summary:
    journal = Journal(settings.run / "bench" / "rows.jsonl")
    plan = [Planned(each, _conditions(each.settings)) for each in make_plan(settings)]
    for planned in plan:
        _measure(planned, journal, describe_code(settings))
    records = [journal.get(piece.key, planned.fingerprint(piece)) for planned in plan
               for piece in planned.experiment.pieces]
    return _write(settings, [planned.experiment for planned in plan], records)


def _measure(planned: Planned, journal: Journal, code: Record) -> None:
    pieces, settings = planned.experiment.pieces, planned.experiment.settings
    earlier = {piece.key: journal.find(piece.key, planned.fingerprint(piece)) for piece in pieces}
    missing = [piece for piece in pieces if earlier[piece.key] is None or earlier[piece.key]["failures"]]
    reused = len(pieces) - len(missing)
    if reused:
        note(f"bench: {reused} of {len(pieces)} prompts were measured before under the same conditions; reused")
    if not missing:
        return
    by_key = {piece.key: piece for piece in missing}
    with progress("bench", len(missing)) as advance:
        for record in measured(settings, [(piece, earlier[piece.key]) for piece in missing]):
            journal.add(record | {"fingerprint": planned.fingerprint(by_key[record["key"]]), "code": code})
            advance()


def _conditions(settings: Settings) -> str:
    """Everything a measured time depends on besides the piece."""
    bench = settings.bench
    assistant = bench.assistant and folder_fingerprint(bench.assistant)
    return digest([conditions_fingerprint(settings, settings.target.dtype), draft_fingerprints(settings),
                   describe_machine(), bench.warmups, assistant, bench.actors, bench.gpus_per_actor > 0])


def _write(settings: Settings, plan: Sequence[Experiment], records: list[Record]) -> Summary:
    rows, failures = ([each for record in records for each in record[name]] for name in ("rows", "failures"))
    folder, last = settings.run / "bench", max(records, key=lambda record: record["at"])
    write_rows(rows, folder / "rows.parquet")
    write_answers(rows, folder, datetime.fromisoformat(last["at"]))
    write_json(folder / "pictures.json", {prompt_of(record["rows"][0]): record["picture"] for record in records
                                          if record["picture"] and record["rows"]})
    pieces = [piece for experiment in plan for piece in experiment.pieces]
    told = summarise(Results(pieces, rows, failures), settings.bench.noise_band)
    summary = {
        "format": FORMAT, "name": settings.name, "target": _all(one.settings.target.name for one in plan),
        "measured_at": last["at"], "quotable": settings.quotable,
        "claim_level": f"measured on {'GPU' if last['device'] == 'cuda' else 'CPU'}",
        "conditions": _told_conditions(plan, last),
        "runs": {one.settings.target.name: os.path.relpath(one.settings.run, settings.run) for one in plan[1:]},
        **told, "goals": goal_lines([one.settings for one in plan], told["rows"]),
        "fingerprint": _fingerprint(plan, records, last), "result": digest(rows)}
    write_json(settings.run / "summary.json", summary)
    save_settings(settings, folder / "settings.yaml")
    return summary


def _told_conditions(plan: Sequence[Experiment], last: Record) -> Record:
    bench = plan[0].settings.bench
    return {"dtype": _all(one.settings.target.dtype for one in plan),
            "temperature": ", ".join(f"{each:g}" for each in bench.temperatures), "repeats": bench.repeats,
            "warmups": bench.warmups, "seed": bench.seed, "threads": plan[0].settings.threads,
            "actors": bench.actors, "device": last["device"]}


def _fingerprint(plan: Sequence[Experiment], records: list[Record], last: Record) -> Record:
    """What the result depends on. A draft of a further target is named after it."""
    targets = {one.settings.target.name: target_fingerprint(one.settings.target.name, one.settings.target.weights)
               for one in plan}
    first, *others = plan
    drafts = draft_fingerprints(first.settings)
    for other in others:
        drafts |= {f"{other.settings.target.name}/{name}": each
                   for name, each in draft_fingerprints(other.settings).items()}
    in_time = sorted(records, key=lambda record: record["at"])
    return {"machine": last["machine"], "code": last["code"], "target": next(iter(targets.values())),
            "targets": targets, "drafts": drafts,
            "load": {"before": in_time[0]["before"]["load"], "after": last["after"]["load"],
                     "highest": max(record[side]["load"] for record in records for side in ("before", "after"))},
            "state": {"before": in_time[0]["before"], "after": last["after"]}}


def _all(names: Any) -> str:
    """Each once, in order."""
    return ", ".join(dict.fromkeys(names))
