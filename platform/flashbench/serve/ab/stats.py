"""Pairs -> what they say, every figure with its 95 % interval over prompts. It keeps nothing and knows no request.

The figures are those of `specflash.metrics` on the pairs' own accounts: pairs of the same prompt are added up, since
they are not independent. A figure whose interval cannot be known yet is null and says how many more prompts it takes.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from flashbench.serve.ab.pairs import Pair, Pairs, Tally
from specflash.intervals import FEWEST_TO_BOOTSTRAP, Interval, share_interval
from specflash.metrics import (
    DECODE,
    E2E,
    Row,
    Window,
    accept_length,
    accept_length_interval,
    position_intervals,
    speedup,
    speedup_interval,
)

Json = dict[str, Any]
WINDOWS = {"speedup_decode": DECODE, "speedup_e2e": E2E}
FEWEST = FEWEST_TO_BOOTSTRAP
"""Fewer prompts have an interval too, but one that a live page should not show."""


def told(pairs: Pairs) -> list[Json]:
    """One line per two methods that have pairs."""
    return [{**line(list(kept)), "ever": counts(pairs.tallies[key])} for key, kept in pairs.kept.items()]


def line(pairs: Sequence[Pair]) -> Json:
    """What pairs of the same two methods say; there is at least one.

    by_first  R where the method ran first and where its baseline did: they agree unless the order matters
    """
    one, timed = pairs[0], [pair for pair in pairs if pair.timed]
    sides = {one.method: [pair.ours for pair in pairs], one.baseline: [pair.theirs for pair in pairs]}
    return {
        "method": one.method, "baseline": one.baseline, "pairs": len(pairs), "timed": len(timed),
        "prompts": len({pair.prompt for pair in pairs}), "first": dict(Counter(pair.first for pair in pairs)),
        **{name: ratio(timed, window) for name, window in WINDOWS.items()},
        "by_first": {who: ratio([pair for pair in timed if pair.first == who], DECODE) for who in sides},
        "accept_length": {who: _length(rows) for who, rows in sides.items()},
        "acceptance_by_position": {who: _positions(rows) for who, rows in sides.items()},
        "identical_share": _identity(pairs),
        "differences": dict(Counter(pair.kind for pair in pairs if pair.kind))}


def counts(tally: Tally) -> Json:
    return {"pairs": tally.pairs, "greedy": tally.greedy, "identical": tally.identical,
            "differences": dict(tally.differences)}


def difference(pair: Pair) -> Json:
    return {"prompt": pair.prompt, "method": pair.method, "baseline": pair.baseline, "kind": pair.kind,
            "position": pair.position, "gap": pair.gap}


def ratio(pairs: Sequence[Pair], window: Window) -> Json:
    """R of the method over its baseline, of timed pairs. An answer of one token has no time after its first."""
    ours, theirs = [pair.ours for pair in pairs], [pair.theirs for pair in pairs]
    spoken = set.intersection(*({row.prompt for row in rows if row.within(window)[1]} for rows in (ours, theirs)))
    return figure(len(spoken), lambda: speedup(ours, theirs, window).pooled,
                  lambda: speedup_interval(ours, theirs, window))


def figure(prompts: int, value: Callable[[], float], interval: Callable[[], Interval]) -> Json:
    """value and interval, or null and `more`: how many more prompts it takes."""
    if prompts >= FEWEST:
        found, ends = value(), interval()
        if all(map(math.isfinite, (found, ends.low, ends.high))):
            return {"value": found, "interval": [ends.low, ends.high], "prompts": prompts, "more": 0}
    return {"value": None, "interval": None, "prompts": prompts, "more": max(1, FEWEST - prompts)}


def _length(rows: Sequence[Row]) -> Json:
    prompts = len({row.prompt for row in rows if row.passes})
    return figure(prompts, lambda: accept_length(rows).pooled, lambda: accept_length_interval(rows))


def _positions(rows: Sequence[Row]) -> list[Json]:
    """Per position of the draft: the share of the rounds that drafted it where it and all before were kept."""
    joint = accept_length(rows).joint
    drafting = [len({row.prompt for row in rows if max(row.drafted, default=0) > place}) for place in range(len(joint))]
    ends = position_intervals(rows) if max(drafting, default=0) >= FEWEST else (None,) * len(joint)
    return [figure(prompts, lambda share=share: share, partial(_around, share, prompts, end))
            for share, prompts, end in zip(joint, drafting, ends, strict=True)]


def _around(share: float, prompts: int, bootstrapped: Interval) -> Interval:
    """What was always so, or never, in a few prompts is no certainty, as which the bootstrap takes it."""
    return share_interval(int(share) * prompts, prompts) if share in (0, 1) else bootstrapped


def _identity(pairs: Sequence[Pair]) -> Json:
    """Of the prompts answered at temperature 0, those whose every pair was equal."""
    same: dict[str, bool] = {}
    for pair in pairs:
        if pair.identical is not None:
            same[pair.prompt] = same.get(pair.prompt, True) and pair.identical
    equal, prompts = sum(same.values()), len(same)
    return figure(prompts, lambda: equal / prompts, lambda: share_interval(equal, prompts))
