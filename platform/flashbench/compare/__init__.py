"""Two or more results side by side: which method became slower, and whether that is certain."""

from flashbench.compare.run import run_compare

__all__ = ["run_compare"]
