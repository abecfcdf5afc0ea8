"""Taking over what others made: feature dumps into the store, answer files for `compare`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashbench.dump.account import Account
    from flashbench.settings import Settings

__all__ = ["run_import"]


def run_import(settings: "Settings", sources: Sequence[Path]) -> "list[Account]":
    """See `flashbench.bring_in.run.run_import`."""
    from flashbench.bring_in.run import run_import
    return run_import(settings, sources)
