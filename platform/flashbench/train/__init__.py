"""Training drafts on stored features with Ray Train and DeepSpeed: same recipe for every draft.

The workers import what they run, so this file imports nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashbench.settings import Settings
    from flashbench.train.run import TrainSummary

__all__ = ["run_train"]


def run_train(settings: "Settings", drafts: Sequence[str] | None = None) -> "list[TrainSummary]":
    """See `flashbench.train.run.run_train`."""
    from flashbench.train.run import run_train
    return run_train(settings, drafts)
