"""All figures of a run: drawn once, as files for papers and as SVG for the page."""

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from matplotlib.figure import Figure

from dashboards.report.plots import PLOTS
from dashboards.report.plots.base import Plot
from dashboards.report.records import RunRecords
from dashboards.report.svg import MUTED, draw


@dataclass(frozen=True)
class Drawn:
    """A figure on the page: its SVG, and what stands around it."""

    name: str
    title: str
    caption: str
    alt: str
    svg: Markup


def draw_figures(run: RunRecords, folder: Path) -> dict[str, Drawn]:
    """Every figure the run has the records for, also saved as .svg and .png in `folder`.

    Files of figures that the run has no records for any more are taken away.
    """
    for name in (name for name, plot in PLOTS.items() if not plot.applies(run)):
        for kind in ("svg", "png"):
            (folder / f"{name}.{kind}").unlink(missing_ok=True)
    return {name: Drawn(name, plot.title, plot.caption, plot.alt(run),
                        Markup(draw(name, plot.size, lambda figure, plot=plot: _paint(figure, plot, run), folder)))
            for name, plot in PLOTS.items() if plot.applies(run)}


def _paint(figure: Figure, plot: Plot, run: RunRecords) -> None:
    plot.paint(figure, run)
    if not run.summary["quotable"]:
        figure.supxlabel("shortened run, not for quoting", x=0.99, ha="right", fontsize=7.5, color=MUTED)
