"""Where files that can always be made again are kept. It knows no model."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """SPECFLASH_CACHE, else `~/.cache/specflash`."""
    return Path(os.environ.get("SPECFLASH_CACHE", Path.home() / ".cache" / "specflash"))


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache, filled by `make` if it is not there yet.

    It is filled under another name and renamed when complete, so that neither a kill nor two
    processes at the same time leave half a folder behind.
    """
    folder = cache_folder() / name
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder.parent))
    try:
        make(unfinished)
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():  # otherwise another process was quicker, and its folder is as good
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder
