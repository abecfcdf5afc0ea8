"""Scripted benchmark rows with round numbers, and a run folder made of them."""

from pathlib import Path
from typing import Any

from flashbench.bench.plan import Piece
from flashbench.bench.prompts import BenchPrompt
from flashbench.bench.results import Results
from flashbench.bench.rows import PHASES, write_rows
from flashbench.bench.summary import summarise
from flashbench.fingerprint import digest
from flashbench.journal import write_json
from specflash.records import Sample


def row(method: str, sample: str, kept: list[int], seconds: dict[str, float], **other: Any) -> dict[str, Any]:
    """A row of task `instruct` whose every pass drafted 2 tokens (vanilla: none)."""
    drafted = [0 if method in ("vanilla", "vanilla-again", "hf-generate") else 2] * len(kept)
    committed = [one + 1 for one in kept]
    tokens = 1 + sum(committed)
    return {"target": "tiny", "task": "instruct", "out_of_domain": False, "sample": sample, "temperature": 0.0,
            "method": method, "repeat": 0, "turn": 0, "attempt": 0, "worker": "here/1", "dtype": "bfloat16",
            "attention": "sdpa", "device": "cpu", "threads": 1, "max_new_tokens": 7, "top_p": 1.0, "seed": 0,
            "prompt_tokens": 7, "ids": list(range(tokens)), "tokens": tokens,
            "kept": kept, "drafted": drafted, "committed": committed,
            "seconds": dict.fromkeys(PHASES, 0.0) | seconds, "finish": "length", "identical": True,
            "first_difference": None, "gap": None, "tie": None,
            "question": "What is it?", "text": f"The answer of {method}.", "pieces": None} | other


TIE = {"identical": False, "first_difference": 3, "gap": 0.125, "tie": True}


def scripted_rows() -> list[dict[str, Any]]:
    """Two prompts of seven tokens. Vanilla: 1 s a token; the draft: 3 and 2 passes of 1 s.

    A = (6 + 6) / (3 + 2) = 2.4; R decode = (12 s / 12) / (5 s / 12) = 2.4, per prompt 2 and 3;
    R e2e adds 1 s of prefill to each answer: (14 / 14) / (7 / 14) = 2.
    """
    vanilla = {"prefill": 1.0, "verify": 6.0}
    pieces = ["A", " red", " bo", "at", " on", " <i>", " sea"]
    return [
        row("vanilla", "p1", [0] * 6, vanilla, pieces=pieces),
        row("vanilla", "p2", [0] * 6, vanilla),
        row("drafty", "p1", [1, 1, 1], {"prefill": 1.0, "verify": 2.0, "draft": 0.5, "other": 0.5}, pieces=pieces),
        row("drafty", "p2", [2, 2], {"prefill": 1.0, "verify": 1.5, "draft": 0.5}, **TIE),
        row("hf-generate", "p1", [0] * 6, {"other": 14.0}),
        row("hf-generate", "p2", [0] * 6, {"other": 7.0}, **TIE),
    ]


def planned(rows: list[dict[str, Any]], **change: Any) -> Results:
    """The rows with the plan that they fulfil: every method asked on the prompts that it answered."""
    pieces: dict[tuple, dict[str, Any]] = {}
    for one in rows:
        place = tuple(one[name] for name in ("target", "task", "sample", "temperature", "out_of_domain"))
        piece = pieces.setdefault(place, {"methods": {}, "repeats": 0})
        piece["methods"][one["method"]] = None
        piece["repeats"] = max(piece["repeats"], one["repeat"] + 1)
    return Results([
        Piece(target, "bfloat16", 1, BenchPrompt(task, sample, Sample(sample, (), (), task), 7, outside), temperature,
              tuple(piece["methods"]), piece["repeats"], seed=0, shown=False)
        for (target, task, sample, temperature, outside), piece in pieces.items()], rows, **change)


def scripted_summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "format": 1, "name": "scripted", "target": "tiny", "measured_at": "2026-01-02T03:04:05+00:00",
        "quotable": True, "claim_level": "measured on CPU",
        "conditions": {"dtype": "bfloat16", "temperature": "0", "repeats": 1, "warmups": 0, "seed": 0,
                       "threads": 1, "device": "cpu"},
        **summarise(planned(rows), noise_band=0.1), "goals": [],
        "fingerprint": {
            "machine": {"cpu": "abacus", "cores": 2, "gpus": [], "system": "Linux", "python": "3.11"},
            "code": {"commit": "abc", "engine": "def", "settings": "123", "versions": {"torch": "2"}},
            "target": "t1", "drafts": {"drafty": "d1"}, "load": {"before": 0.1, "after": 0.2, "highest": 0.3}},
        "result": digest(rows)}


def scripted_run(folder: Path) -> dict[str, Any]:
    """Write the records of a finished run; returns its summary."""
    rows = scripted_rows()
    write_rows(rows, folder / "bench" / "rows.parquet")
    write_json(folder / "bench" / "pictures.json", {"instruct/p1": "data:image/gif;base64,R0lGODlhAQABAAAAACw="})
    summary = scripted_summary(rows)
    write_json(folder / "summary.json", summary)
    curves = [{"epoch": 1, "loss": 2.0, "held_out_loss": 2.1, "slot_accuracy": [0.5, 0.4],
               "simulated_accept_length": 1.7, "seconds": 3.0},
              {"epoch": 2, "loss": 1.0, "held_out_loss": 1.4, "slot_accuracy": [0.6, 0.5],
               "simulated_accept_length": 1.9, "seconds": 3.0}]
    write_json(folder / "drafts" / "drafty" / "training.json", {"draft": "drafty", "curves": curves})
    return summary
