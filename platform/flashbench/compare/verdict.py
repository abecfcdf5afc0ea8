"""What a comparison says: the ratio of seconds per token, its interval, and what may be concluded.

It reads no file and prints nothing. The tolerance t splits the ratios: at most 1 is no slow-down,
1 + t and more is one that matters, and between them lies what nobody minds.

    interval   below 1 + t              no regression: a slow-down that matters is excluded
               above 1, reaching 1 + t  regression: certainly slower, and perhaps by as much as matters
               holding both             cannot tell: too wide
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from flashbench.compare.results import Result
from specflash.errors import UserError
from specflash.intervals import Interval, interval_of, prompts_needed

LEAST_PROMPTS = 6
"""Even the extremes of 5 prompts enclose their law's middle in less than 95 % of the cases (1 - 2/2⁵)."""


class Verdict(Enum):
    REGRESSION = "regression"
    FINE = "no regression"
    UNCLEAR = "cannot tell"


@dataclass(frozen=True)
class Finding:
    """One method in one window.

    ratio        seconds per token / those of the reference, pooled over the prompts both answered
    same_length  share of these prompts that have equally many tokens on both sides
    needed       prompts that would tell; None where these did
    """

    method: str
    window: str
    prompts: int
    left_out: int
    ratio: float
    interval: Interval
    same_length: float
    verdict: Verdict
    needed: int | None


def compare(reference: Result, result: Result, tolerance: float) -> list[Finding]:
    """Every method of both, in every window measured in both. Raises UserError where nothing is in common."""
    findings = []
    for name, before, after in _method_pairs(reference, result):
        ours, theirs = result.methods[after], reference.methods[before]
        findings += [_finding(name, window, ours[window], theirs[window], tolerance)
                     for window in ("decode", "e2e") if window in ours and window in theirs
                     and ours[window].keys() & theirs[window].keys()]
    if not findings:
        raise UserError(f"{reference.name} and {result.name} have no prompt in common")
    return findings


def judge(interval: Interval, prompts: int, tolerance: float) -> tuple[Verdict, int | None]:
    """The verdict, and how many prompts it needs where these are too few."""
    if prompts < LEAST_PROMPTS:
        return Verdict.UNCLEAR, max(LEAST_PROMPTS, prompts_needed(interval, prompts, tolerance))
    if interval.high < 1 + tolerance:
        return Verdict.FINE, None
    if interval.low > 1:
        return Verdict.REGRESSION, None
    return Verdict.UNCLEAR, prompts_needed(interval, prompts, tolerance)


def time_ratio(total: np.ndarray) -> np.ndarray:
    """Sums [..., 4] (our seconds, our tokens, their seconds, their tokens) -> [...]"""
    return (total[..., 0] / total[..., 1]) / (total[..., 2] / total[..., 3])


def _method_pairs(reference: Result, result: Result) -> list[tuple[str, str, str]]:
    """(label, reference's method, result's): those of one name, or the only one of either side."""
    common = [name for name in reference.methods if name in result.methods]
    if common:
        return [(name, name, name) for name in common]
    if len(reference.methods) == len(result.methods) == 1:
        (before,), (after,) = reference.methods, result.methods
        return [(f"{before} → {after}", before, after)]
    raise UserError(f"no method in common: {reference.name} has {', '.join(reference.methods)}; "
                    f"{result.name} has {', '.join(result.methods)}; choose one with --method")


def _finding(method: str, window: str, ours: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray],
             tolerance: float) -> Finding:
    prompts = [prompt for prompt in theirs if prompt in ours]
    columns = np.array([[*ours[prompt], *theirs[prompt]] for prompt in prompts])  # [prompts, 4]
    interval = interval_of(columns, time_ratio)
    verdict, needed = judge(interval, len(prompts), tolerance)
    return Finding(method, window, len(prompts), len(ours.keys() ^ theirs.keys()),
                   float(time_ratio(columns.sum(0))), interval,
                   float(np.mean(columns[:, 1] == columns[:, 3])), verdict, needed)
