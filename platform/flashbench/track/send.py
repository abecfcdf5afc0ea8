"""Sending entries to MLflow, with those that wait from before. What it does not take waits in the run folder.

Nothing here stops the work that is reported: whatever goes wrong becomes one line.
"""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flashbench.settings import Settings
from flashbench.track.entry import Entry
from flashbench.track.outbox import Outbox
from flashbench.track.store import only_writer, prepare_library
from specflash.errors import one_line
from specflash.files import DiskFull

if TYPE_CHECKING:
    from flashbench.track.writer import Writer

PATIENCE_SECONDS = 60.0
"""Of one call, tries and pauses together; what is not sent by then waits."""


def send(settings: Settings, entries: Sequence[Entry]) -> list[str]:
    """Write the entries, and what waits; returns one line where some could not be written, else nothing."""
    prepare_library()
    from flashbench.track.writer import STORE_ERRORS, Writer  # it needs MLflow, whose import is slow
    outbox = Outbox(settings.run)
    unsent = {entry.key: entry for entry in entries}
    try:
        with only_writer(settings):
            unsent = {**{entry.key: entry for entry in outbox.waiting()}, **unsent}
            reasons = _write(Writer(settings), unsent, outbox)
    except STORE_ERRORS as error:
        reasons = [one_line(error)]
    if not unsent:
        return []
    return [f"{_count(len(unsent), 'run')} ({_reason(reasons)}); {_kept(outbox, unsent.values())}"]


def _write(writer: "Writer", unsent: dict[str, Entry], outbox: Outbox) -> list[str]:
    """Take out of `unsent` what was written; returns why the others were not. A parent goes before its children."""
    from flashbench.track.writer import StoreAway
    reasons, give_up_at = [], time.monotonic() + PATIENCE_SECONDS
    for entry in sorted(unsent.values(), key=lambda entry: entry.parent is not None):
        try:
            failed = writer.write(entry, give_up_at)
        except StoreAway as error:
            return [*reasons, one_line(error)]
        reasons += failed
        if not failed:
            del unsent[entry.key]
            outbox.forget(entry)
    return reasons


def _kept(outbox: Outbox, entries: Iterable[Entry]) -> str:
    try:
        for entry in entries:
            outbox.keep(entry)
    except (DiskFull, OSError) as error:
        return f"could not be kept for later either: {one_line(error)}"
    return f"kept in {outbox.folder} and sent with the next call"


def _reason(reasons: Sequence[str]) -> str:
    more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    return reasons[0] + more


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
