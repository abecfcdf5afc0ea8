"""One process at a time works on a folder of a run. It knows no stage."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from specflash.errors import UserError


@contextmanager
def sole_writer(folder: Path, stage: str) -> Iterator[None]:
    """Hold the folder's lock, which goes with the process however it ends. Raises UserError where it is held."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another {stage} is writing to {folder}: wait until it has ended") from None
        yield
