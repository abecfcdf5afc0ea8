"""When a campaign has seen enough: a fixed-width sequential rule. It knows no request and no file.

The interval of R_decode is looked at while pairs come in, and the campaign ends at the first look at which it is as
narrow as was wanted, from a fixed least number of prompts on (Chow and Robbins 1965). Is that peeking? What would
spoil an interval is to stop because of *where* it lies, say once it leaves 1 out: chance then decides which way.
Here only its *width* stops, and how wide an interval is says next to nothing about on which side of the truth its
middle lies (for normal data nothing at all: mean and variance are independent). What is left is that one stops a
little more often where the spread happens to look small. That costs coverage mostly where few pairs have been seen
and where many looks are taken, hence the least number and looks that lie a fifth apart. Measured on simulated
campaigns (prompts of unlike length, cost and speed-up, noise on each side; wanted widths from 5 to 30 %; over after
27 to 101 prompts, the median), the 95 % interval at the end held the true ratio in 92 to 93 % of them; that of as many
prompts fixed beforehand, in 93 to 95 %. tests/flashbench/serve/ab/test_rule.py runs such campaigns. Nobody should end
one by hand because of where its interval lies; one that is ended so says `stopped by hand` for good.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from specflash.intervals import FEWEST_TO_BOOTSTRAP

LEAST_PROMPTS = 20
BETWEEN_LOOKS = 1.2

ENOUGH, MOST_PAIRS, OUT_OF_TIME, BY_HAND = "enough", "most pairs", "out of time", "stopped by hand"
"""Why a campaign is over. Only after the first is the interval as narrow as was wanted."""


@dataclass(frozen=True)
class Rule:
    """width  of the interval of R_decode that is wanted, as a share of R: 0.1 is about ± 5 %"""

    width: float = 0.1
    max_pairs: int = 2000
    max_seconds: float = 86_400.0


def looks(last: int) -> Iterator[int]:
    """The numbers of timed pairs at which is looked, a fifth apart, up to `last`; the first have no power to stop."""
    at = FEWEST_TO_BOOTSTRAP
    while at <= last:
        yield at
        at = ceil(at * BETWEEN_LOOKS)


def is_look(pairs: int) -> bool:
    return pairs in looks(pairs)


def width_of(ratio: dict[str, Any]) -> float | None:
    """Relative width of a figure's interval; None where there is none yet."""
    if ratio["value"] is None:
        return None
    low, high = ratio["interval"]
    return (high - low) / ratio["value"]


def verdict(rule: Rule, ratio: dict[str, Any], pairs: int) -> str | None:
    """Why to stop at this look, or None.

    ratio  R_decode as stats.py tells it, of `pairs` timed pairs
    """
    width = width_of(ratio)
    if width is not None and ratio["prompts"] >= LEAST_PROMPTS and width <= rule.width:
        return ENOUGH
    return MOST_PAIRS if pairs >= rule.max_pairs else None


def prompts_wanted(rule: Rule, ratio: dict[str, Any]) -> int | None:
    """About how many prompts it takes in all: the width goes with 1 / √prompts. None where nothing is known yet."""
    width = width_of(ratio)
    return None if width is None else max(LEAST_PROMPTS, ceil(ratio["prompts"] * (width / rule.width) ** 2))
