"""The answers in the JSONL layout of EAGLE and Spec-Bench, so that their `speed.py` can read them.

One file per method, one line per prompt, one choice per repeat. A choice holds lists with one entry
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

from flashbench.bench.rows import Row
from flashbench.fingerprint import digest
from specflash.files import write_whole


def write_answers(rows: Sequence[Row], folder: Path, measured_at: datetime) -> None:
    """Write `answers-METHOD.jsonl` for every method of the rows; those of other methods are taken away."""
    methods = dict.fromkeys(row["method"] for row in rows)
    files = {folder / f"answers-{method}.jsonl": method for method in methods}
    for stale in set(folder.glob("answers-*.jsonl")) - files.keys():
        stale.unlink()
    for path, method in files.items():
        lines = answer_lines([row for row in rows if row["method"] == method], measured_at)
        write_whole(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())


def answer_lines(rows: Iterable[Row], measured_at: datetime) -> list[dict[str, Any]]:
    """One line per prompt, from the rows of one method."""
    by_prompt: dict[str, list[Row]] = {}
    for row in rows:
        by_prompt.setdefault(f"{row['task']}/{row['sample']}", []).append(row)
    return [{"question_id": prompt, "category": repeats[0]["task"],
             "answer_id": digest([prompt, repeats[0]["method"]]), "model_id": repeats[0]["method"],
             "choices": [_choice(row) for row in repeats], "tstamp": measured_at.timestamp()}
            for prompt, repeats in by_prompt.items()]


def _choice(row: Row) -> dict[str, Any]:
    passes = len(row["committed"])
    return {"index": row["repeat"], "turns": [row["text"]], "idxs": [max(passes - 1, 0)],
            "new_tokens": [row["tokens"]], "wall_time": [sum(row["seconds"].values())],
            "decoding_steps": [passes], "accept_lengths": list(row["committed"])}
