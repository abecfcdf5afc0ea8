"""Files that are there whole or not at all. It knows nothing of what is in them."""

import errno
import os
from pathlib import Path

from specflash.errors import UserError

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class DiskFull(UserError):
    """No room was left for a file; every file written before is whole."""


def write_whole(path: Path, data: bytes) -> None:
    """Write and flush beside `path`, then rename: after a kill at any instant `path` is old or new.

    Raises DiskFull, after taking its own unfinished file away.
    """
    unfinished = path.with_name(path.name + ".tmp")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        unfinished.unlink(missing_ok=True)
        raise DiskFull(f"no space left in {path.parent}: finished samples are kept; free some space "
                       "and run the same command again to continue") from None


def _flush_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
