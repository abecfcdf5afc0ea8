"""One process at a time works on a folder of a run. It knows no stage."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from specflash.errors import UserError

LOCK = ".lock"


@contextmanager
def sole_writer(folder: Path, stage: str) -> Iterator[None]:
    """Hold the folder's lock, which goes with the process however it ends. Raises UserError where it is held."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another {stage} is writing to {folder}: wait until it has ended") from None
        (folder / LOCK).write_text(token_hex(16))
        yield


def holder(folder: Path) -> str:
    """Who took the folder's lock last: another value once another process has taken it.

    Workers may outlive a killed process for a while; by this they know that their work is no longer wanted.
    """
    lock = folder / LOCK
    return lock.read_text() if lock.is_file() else ""
