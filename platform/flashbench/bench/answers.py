"""The answers in the JSONL layout of EAGLE and Spec-Bench, so that their `speed.py` can read them.

One file per method (and target, and temperature, where there are several), one line per prompt, one choice
per repeat. A choice holds lists with one entry
per turn; a benchmark prompt asks for one turn. `idxs` is EAGLE's index of the last step, which counts
from 0; `decoding_steps` and `accept_lengths` are Spec-Bench's.

These scripts divide whole answers by whole times, and take the baseline's tokens from encoding its
text again. Our own numbers do neither: tokens are counted from ids.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from flashbench.bench.rows import Row, asked
from flashbench.fingerprint import digest
from specflash.files import write_whole


def write_answers(rows: Sequence[Row], folder: Path, measured_at: datetime) -> None:
    """Write `answers-METHOD.jsonl` for every method of the rows; those of other methods are taken away."""
    files: dict[Path, list[Row]] = {}
    several = [name for name in ("target", "temperature") if len({row[name] for row in rows}) > 1]
    for row in rows:
        name = "-".join(["answers", row["method"], *(f"{row[label]}" for label in several)])
        files.setdefault(folder / f"{name}.jsonl", []).append(row)
    for stale in set(folder.glob("answers-*.jsonl")) - files.keys():
        stale.unlink()
    for path, mine in files.items():
        lines = answer_lines(mine, measured_at)
        write_whole(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())


def answer_lines(rows: Iterable[Row], measured_at: datetime) -> list[dict[str, Any]]:
    """One line per prompt, from the rows of one method."""
    by_prompt: dict[str, list[Row]] = {}
    for row in rows:
        by_prompt.setdefault(asked(row), []).append(row)
    return [{"question_id": prompt, "category": repeats[0]["task"],
             "answer_id": digest([prompt, repeats[0]["method"]]), "model_id": repeats[0]["method"],
             "choices": [_choice(row) for row in repeats], "tstamp": measured_at.timestamp()}
            for prompt, repeats in by_prompt.items()]


def _choice(row: Row) -> dict[str, Any]:
    passes = len(row["committed"])
    return {"index": row["repeat"], "turns": [row["text"]], "idxs": [max(passes - 1, 0)],
            "new_tokens": [row["tokens"]], "wall_time": [sum(row["seconds"].values())],
            "decoding_steps": [passes], "accept_lengths": list(row["committed"])}
