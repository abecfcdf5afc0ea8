"""The rows that travel through Ray during a dump. They hold no tensor; it knows no target.

    piece of (index, id) -> Reader -> PIECE_SCHEMA -> Extractor -> OUTCOME_SCHEMA

A piece of work is one row, however many samples it has: so no operator cuts it or joins it to another.
"""

import json
from dataclasses import asdict

import pyarrow as pa

from specflash.records import Sample, Turn

READ_SCHEMA = pa.schema([("index", pa.int64()), ("id", pa.string()), ("task", pa.string()),
                         ("turns", pa.string()), ("images", pa.list_(pa.binary())),
                         ("reason", pa.string())])
"""A sample with its encoded pictures, or the reason why it is bad."""

PIECE_SCHEMA = pa.schema([("samples", pa.list_(pa.struct(list(READ_SCHEMA))))])
"""One piece of work: samples that one call of an actor does together."""

OUTCOME_SCHEMA = pa.schema([("index", pa.int64()), ("id", pa.string()), ("outcome", pa.string()),
                            ("reason", pa.string())])
"""What became of a sample. FULL stands for a whole call and stops the dump."""

STORED, BAD, FULL = "stored", "bad", "disk full"


def to_row(index: int, sample: Sample, images: list[bytes]) -> dict:
    """A row of READ_SCHEMA."""
    return {"index": index, "id": sample.id, "task": sample.task, "images": images,
            "turns": json.dumps([asdict(turn) for turn in sample.turns])}


def to_sample(row: dict) -> Sample:
    turns = tuple(Turn(**turn) for turn in json.loads(row["turns"]))
    return Sample(id=row["id"], images=tuple(row["images"]), turns=turns, task=row["task"])
