"""The benchmark: time every method on the same held-out prompts, in the same process, and say what came out."""

from flashbench.bench.plan import experiments
from flashbench.bench.run import measure, publish, run_bench

__all__ = ["experiments", "measure", "publish", "run_bench"]
