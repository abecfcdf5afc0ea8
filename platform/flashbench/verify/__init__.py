"""Verification: every draft must give the target's own tokens, or the run says where it did not."""

from flashbench.verify.run import run_verify
from flashbench.verify.verdict import Verdict

__all__ = ["Verdict", "run_verify"]
