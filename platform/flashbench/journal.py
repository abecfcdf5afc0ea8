"""An append-only journal of finished work. It knows no benchmark.

A line is written, flushed and synced before its work counts as finished, so a killed process
loses at most the piece it was busy with. A torn last line is cut off when the journal is opened; a
damaged one before it is left out, which costs that piece of work and no other.
"""

import json
import os
from pathlib import Path
from typing import Any

from flashbench.console import note
from specflash.files import told_when_full, write_whole

Record = dict[str, Any]


class Journal:
    """JSON lines, each with a `key` (which piece of work) and a `fingerprint` (under what conditions)."""

    def __init__(self, path: Path):
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._records = self._read()

    def find(self, key: str, fingerprint: str) -> Record | None:
        """The finished record, or None where it is missing or was made under other conditions."""
        return self._records.get((key, fingerprint))

    def get(self, key: str, fingerprint: str) -> Record:
        """The record of work that is known to be finished."""
        return self._records[key, fingerprint]

    def add(self, record: Record) -> None:
        """Make the record durable. Raises DiskFull."""
        with told_when_full(self._path.parent), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._records[record["key"], record["fingerprint"]] = record

    def _read(self) -> dict[tuple[str, str], Record]:
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self._path, len(whole))
        records = [_record(line) for line in whole.split(b"\n")[:-1]]
        damaged = sum(record is None for record in records)
        if damaged:
            note(f"{self._path}: {damaged} of {len(records)} lines are damaged and left out; their work is done again")
        return {(record["key"], record["fingerprint"]): record for record in records if record is not None}


def _record(line: bytes) -> Record | None:
    """The record of a line; None where it is none."""
    try:
        record = json.loads(line.decode())
        return record if isinstance(record["key"], str) and isinstance(record["fingerprint"], str) else None
    except (ValueError, KeyError, TypeError):
        return None


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n")
