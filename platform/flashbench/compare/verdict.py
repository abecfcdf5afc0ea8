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

from flashbench.compare.pairs import Pair, pairs
from flashbench.compare.results import WINDOWS, Prompt, Result
from specflash.errors import UserError
from specflash.intervals import Interval, interval_of, prompts_needed

LEAST_PROMPTS = 6
"""Fewer say too little of the prompts that were not asked, whatever their interval."""


class Verdict(Enum):
    REGRESSION = "regression"
    FINE = "no regression"
    UNCLEAR = "cannot tell"


@dataclass(frozen=True)
class Finding:
    """One method in one window.

    ratio         seconds per token / those of the reference, pooled over the prompts both answered
    same_length   share of these prompts that have equally many tokens on both sides
    same_answer   share of these prompts that were answered alike, where that is known
    other_answer  the prompts that were not
    other_limit   how many prompts were left out because another limit cut their answers
    needed        prompts that would tell; None where these did
    greedy        both sides decoded at temperature 0
    """

    method: str
    window: str
    prompts: int
    left_out: int
    other_limit: int
    ratio: float
    interval: Interval
    same_length: float
    same_answer: float | None
    other_answer: tuple[str, ...]
    greedy: bool
    verdict: Verdict
    needed: int | None


def compare(reference: Result, result: Result, tolerance: float) -> list[Finding]:
    """Every method of both, in every window measured in both. Raises UserError where nothing can be compared."""
    found = [(pair, reference.series[pair.before], result.series[pair.after]) for pair in pairs(reference, result)]
    findings = [_finding(pair, window, ours, theirs, tolerance)
                for pair, theirs, ours in found for window in WINDOWS if _shared(window, ours, theirs)]
    if findings:
        return findings
    if any(theirs.keys() & ours.keys() for _, theirs, ours in found):
        raise UserError(f"{reference.name} and {result.name} cut every answer at other limits (max_new_tokens): "
                        "measure both with the same ones")
    raise UserError(f"{reference.name} and {result.name} have no prompt in common")


def judge(interval: Interval, prompts: int, tolerance: float) -> tuple[Verdict, int | None]:
    """The verdict, and how many prompts it needs where these are too few."""
    if prompts < 2:  # of which no interval is known
        return Verdict.UNCLEAR, LEAST_PROMPTS
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


def _finding(pair: Pair, window: str, ours: Mapping[str, Prompt], theirs: Mapping[str, Prompt],
             tolerance: float) -> Finding:
    shared = _shared(window, ours, theirs)
    columns = np.array([[*ours[key].span(window), *theirs[key].span(window)] for key in shared])  # [prompts, 4]
    interval = interval_of(columns, time_ratio)
    verdict, needed = judge(interval, len(shared), tolerance)
    alike = {key: ours[key].same_answer(theirs[key]) for key in shared}
    known = [same for same in alike.values() if same is not None]
    return Finding(
        pair.label, window, prompts=len(shared), left_out=len(ours.keys() ^ theirs.keys()),
        other_limit=sum(ours[key].other_limit(theirs[key]) for key in ours.keys() & theirs.keys()),
        ratio=float(time_ratio(columns.sum(0))), interval=interval,
        same_length=float(np.mean(columns[:, 1] == columns[:, 3])),
        same_answer=sum(known) / len(known) if known else None,
        other_answer=tuple(key for key, same in alike.items() if same is False),
        greedy=0 in (pair.before.temperature, pair.after.temperature), verdict=verdict, needed=needed)


def _shared(window: str, ours: Mapping[str, Prompt], theirs: Mapping[str, Prompt]) -> list[str]:
    """The prompts that both measured in the window, and under limits that are not known to differ."""
    return [key for key in theirs if key in ours and window in theirs[key].spans and window in ours[key].spans
            and not ours[key].other_limit(theirs[key])]
