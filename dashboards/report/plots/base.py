"""What every figure has besides its drawing. It knows no particular figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.report.lines import Record
from dashboards.report.records import RunRecords
from dashboards.report.svg import MUTED

SIZE = (4.7, 3.4)
"""Inches: narrow enough to be read on a phone, two side by side on a desk."""


@dataclass(frozen=True)
class Plot:
    """One figure.

    title    what it shows, in a few words
    caption  how to read it
    paint    draws it
    alt      the same in words and numbers, for those who do not see it
    applies  whether the run has what it shows
    """

    title: str
    caption: str
    paint: Callable[[Figure, RunRecords], None]
    alt: Callable[[RunRecords], str]
    applies: Callable[[RunRecords], bool] = lambda run: True
    size: tuple[float, float] = SIZE


def drafting(run: RunRecords) -> list[str]:
    """The methods that draft."""
    return [method for method in run.methods if method != "vanilla"]


def cells(run: RunRecords) -> dict[tuple, str]:
    """(target, temperature) -> the cell of its lines."""
    return {(line["target"], line["temperature"]): line["cell"] for line in run.overall}


def cell_style(run: RunRecords, line: Record) -> str:
    """Methods differ in colour, cells in the line's pattern."""
    return ("-", "--", "-.", ":")[list(cells(run).values()).index(line["cell"]) % 4]


def note(axes: Axes, text: str, place: tuple[float, float], **more: object) -> None:
    """A quiet word beside a line."""
    axes.annotate(text, place, **{"fontsize": 8, "color": MUTED, "ha": "right", "va": "bottom", **more})


def around(value: float, interval: Sequence[float | None]) -> list[list[float]] | None:
    """Lengths of the two whiskers; None where there is no interval."""
    low, high = interval
    if low is None or high is None:
        return None
    return [[max(0.0, value - low)], [max(0.0, high - value)]]


def per_cent(shares: Sequence[float | None]) -> list[float]:
    """nan leaves a gap where nothing was counted."""
    return [float("nan") if share is None else 100 * share for share in shares]


def sentence(parts: Sequence[str]) -> str:
    return "; ".join(parts) + "." if parts else "Nothing to show."
