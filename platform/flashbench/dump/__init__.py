"""Features of a frozen target: extracted with Ray Data, kept in a store that survives a kill.

Who only reads the store (`flashbench.dump.store`) needs no Ray, so this file imports none.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashbench.dump.account import Account
    from flashbench.settings import Settings

__all__ = ["run_dump"]


def run_dump(settings: "Settings") -> "Account":
    """See `flashbench.dump.pipeline.run_dump`."""
    from flashbench.dump.pipeline import run_dump
    return run_dump(settings)
