"""Figures of a summary as text, for the terminal and for MLflow's notes. It computes nothing.

What nothing was measured for, or what is refused, is a dash.
"""

from collections.abc import Iterator, Mapping
from typing import Any

MISSING = "–"


def number(value: float | None, digits: int = 2) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    return MISSING if value is None else f"{100 * value:.0f} %"


def refusals(summary: Mapping[str, Any]) -> Iterator[str]:
    """One line per reason, with the lines of the summary that have no speed-up because of it."""
    for refusal in summary["refusals"]:
        yield f"No speed-up of {'; '.join(refusal['lines'])}: {refusal['reason']}"


def with_interval(line: Mapping[str, Any], key: str) -> str:
    """The line's figure and its 95 % interval, which one prompt does not have."""
    if line[key] is None:
        return MISSING
    low, high = line[f"{key}_interval"]
    return number(line[key]) + (" [one prompt]" if low is None else f" [{low:.2f}, {high:.2f}]")
