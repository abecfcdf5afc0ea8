"""A data set whose questions the target itself answers: on the dump's pool of actors, into LLaVA-Instruct files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashbench.dump.account import Account
    from flashbench.settings import Settings

__all__ = ["run_regenerate"]


def run_regenerate(settings: "Settings") -> "Account":
    """See `flashbench.regenerate.run.run_regenerate`."""
    from flashbench.regenerate.run import run_regenerate
    return run_regenerate(settings)
