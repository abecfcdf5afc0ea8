"""The benchmark's row, one per prompt × method × repeat, and its Parquet file.

It knows no model; everything the summary and the report show is computed from these rows.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from specflash.files import write_whole

VANILLA = "vanilla"
AGAIN = "vanilla-again"
"""Vanilla's second turn on the same prompt: what the machine alone makes of one and the same work."""
HF_GENERATE = "hf-generate"
PHASES = ("vision", "prefill", "draft_prefill", "draft", "verify", "other")
Row = Mapping[str, Any]

SCHEMA = pa.schema([
    ("target", pa.string()), ("task", pa.string()), ("out_of_domain", pa.bool_()),
    ("sample", pa.string()), ("temperature", pa.float64()), ("method", pa.string()), ("repeat", pa.int64()),
    ("turn", pa.int64()),             # place in the shuffled order of this prompt's methods
    ("attempt", pa.int64()),          # above 0: it failed before, and was measured later than the others
    ("worker", pa.string()),          # host and process that measured it
    # what was really used, read when it was used
    ("dtype", pa.string()), ("attention", pa.string()), ("device", pa.string()), ("threads", pa.int64()),
    ("max_new_tokens", pa.int64()), ("top_p", pa.float64()), ("seed", pa.int64()),
    ("prompt_tokens", pa.int64()),    # visual tokens included
    ("ids", pa.list_(pa.int64())), ("tokens", pa.int64()),
    ("kept", pa.list_(pa.int64())), ("drafted", pa.list_(pa.int64())), ("committed", pa.list_(pa.int64())),
    ("seconds", pa.struct([(phase, pa.float64()) for phase in PHASES])),
    ("finish", pa.string()),
    ("identical", pa.bool_()),        # same token ids as vanilla; null when sampling, and without vanilla's
    # where it is not: the first place that differs, how far apart the target's top two logits are there, and
    # whether rounding explains it
    ("first_difference", pa.int64()), ("gap", pa.float64()), ("tie", pa.bool_()),
    ("question", pa.string()),
    ("text", pa.string()),            # the answer, special tokens left out
    ("pieces", pa.list_(pa.string())),  # text per token, for the few prompts the report shows
])


def key_of(target: str, temperature: float, prompt: str) -> str:
    """Of one prompt for one target at one temperature: what is measured whole. prompt: task/sample"""
    return f"{target}/{temperature:g}/{prompt}"


def prompt_of(row: Row) -> str:
    return f"{row['task']}/{row['sample']}"


def asked(row: Row) -> str:
    """What is paired: the prompt of a row, and the temperature where text is sampled."""
    return prompt_of(row) + (f"@{row['temperature']:g}" if row.get("temperature") else "")


def write_rows(rows: Sequence[Row], path: Path) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), buffer, compression="zstd")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, buffer.getvalue())


def read_rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()
