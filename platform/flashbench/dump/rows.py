"""The rows that travel through Ray during a dump. They hold no tensor; it knows no target.

    piece of (index, id) -> Reader -> PIECE_SCHEMA -> Extractor -> OUTCOME_SCHEMA

A piece of work is one row, however many samples it has: so no operator cuts it or joins it to another.
"""

import json
from dataclasses import asdict

import pyarrow as pa

from specflash.records import Clip, Medium, Sample, Turn, medium_bytes

MEDIUM = pa.struct([("data", pa.binary()), ("frames", pa.int64()), ("start", pa.float64()), ("end", pa.float64())])
"""A picture, or where it has `frames` a clip."""

READ_SCHEMA = pa.schema([("index", pa.int64()), ("id", pa.string()), ("task", pa.string()),
                         ("turns", pa.string()), ("media", pa.list_(MEDIUM)),
                         ("reason", pa.string())])
"""A sample with its encoded media, or the reason why it is bad."""

PIECE_SCHEMA = pa.schema([("samples", pa.list_(pa.struct(list(READ_SCHEMA))))])
"""One piece of work: samples that one call of an actor does together."""

OUTCOME_SCHEMA = pa.schema([("index", pa.int64()), ("id", pa.string()), ("outcome", pa.string()),
                            ("reason", pa.string())])
"""What became of a sample. FULL stands for a whole call and stops the dump."""

STORED, BAD, FULL = "stored", "bad", "disk full"


def to_row(index: int, sample: Sample) -> dict:
    """A row of READ_SCHEMA. Reads the sample's media."""
    return {"index": index, "id": sample.id, "task": sample.task, "media": [_packed(each) for each in sample.media],
            "turns": json.dumps([asdict(turn) for turn in sample.turns])}


def to_sample(row: dict) -> Sample:
    turns = tuple(Turn(**turn) for turn in json.loads(row["turns"]))
    return Sample(id=row["id"], media=tuple(map(_unpacked, row["media"])), turns=turns, task=row["task"])


def _packed(medium: Medium) -> dict:
    shown = asdict(medium) if isinstance(medium, Clip) else {}
    return {"data": medium_bytes(medium), **{key: shown.get(key) for key in ("frames", "start", "end")}}


def _unpacked(row: dict) -> Medium:
    return row["data"] if row["frames"] is None else Clip(row["data"], row["frames"], row["start"], row["end"])
