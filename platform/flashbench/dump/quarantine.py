"""Samples that were left out, with the reason. It knows no Ray and no target."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from flashbench.console import note
from specflash.errors import UserError
from specflash.files import write_whole

FILE = "quarantine.jsonl"
REASONS_SHOWN = 3


@dataclass(frozen=True)
class Quarantined:
    """source  `dataset:split` it came from
    index   its place there
    id      content hash, None where the media could not even be read
    """

    source: str
    index: int
    id: str | None
    reason: str


def read_quarantine(folder: Path) -> list[Quarantined]:
    """What is known to be bad; damaged lines are left out, for every dump finds its bad samples again."""
    path = folder / FILE
    if not path.exists():
        return []
    entries = [_entry(line) for line in path.read_bytes().split(b"\n") if line]
    if None in entries:
        note(f"{path}: damaged lines are left out; a dump finds its bad samples again")
    return [entry for entry in entries if entry is not None]


def _entry(line: bytes) -> Quarantined | None:
    try:
        entry = Quarantined(**json.loads(line.decode()))
        return entry if isinstance(entry.index, int) else None
    except (ValueError, TypeError):
        return None


def write_quarantine(folder: Path, source: str, found: list[Quarantined]) -> None:
    """Replace what was known of `source` by what this run found; other sources stay.

    Written at the end of a run only: a quarantined sample is never in the index, so a run that
    was killed finds it again.
    """
    others = [entry for entry in read_quarantine(folder) if entry.source != source]
    entries = others + sorted(found, key=lambda entry: entry.index)
    lines = [json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in entries]
    write_whole(folder / FILE, "".join(lines).encode())


def check_budget(found: list[Quarantined], total: int, budget: float, folder: Path) -> None:
    """Raises UserError where more than the share `budget` of the source was bad."""
    if len(found) <= budget * total:
        return
    reasons = "; ".join(f"sample {entry.index}: {entry.reason}" for entry in found[:REASONS_SHOWN])
    raise UserError(f"{len(found)} of {total} samples are bad, more than dump.error_budget={budget:g} allows "
                    f"({reasons}); the good ones are kept, the full list is {folder / FILE}: repair the "
                    "data or raise the budget, and run again")
