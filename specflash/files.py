"""Files that are there whole or not at all. It knows nothing of what is in them."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from specflash.errors import UserError

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class DiskFull(UserError):
    """No room was left for a file; every file written before is whole."""


def write_whole(path: Path, data: bytes, mark: str = "tmp") -> None:
    """Write and flush beside `path`, then rename: after a kill at any instant `path` is old or new.

    mark  ends the name of the unfinished file; one of the process's own where several may write

    Raises DiskFull. Its own unfinished file is taken away whatever failed.
    """
    unfinished = path.with_name(f"{path.name}.{mark}")
    with told_when_full(path.parent):
        try:
            with unfinished.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
            _flush_folder(path.parent)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise


@contextmanager
def told_when_full(folder: Path) -> Iterator[None]:
    """Turn what the system says of a full disk into DiskFull."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        raise DiskFull(f"no space left in {folder}: what is finished is kept; free some space "
                       "and run the same command again to continue") from None


def _flush_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
