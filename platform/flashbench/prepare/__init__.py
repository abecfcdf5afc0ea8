"""The first stage: put the drawn scenes and clips on disk, and check every data set before anything expensive."""

from flashbench.prepare.run import run_prepare

__all__ = ["run_prepare"]
