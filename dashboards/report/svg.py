"""Matplotlib figures as files and as SVG that lives inside a page. It knows no data.

Inside a page a figure has no background and draws its text and axes in the page's own colours,
so the same figure is legible in light and in dark.
"""

import io
import re
from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib.artist import Artist
from matplotlib.figure import Figure

INK, MUTED, PAPER = "#1b1f24", "#5d646d", "#fefefe"
"""Text and lines, secondary ones, and what separates touching areas: the page has its own for each."""

STYLE = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9.5, "text.parse_math": False,
    "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.edgecolor": MUTED, "axes.linewidth": 0.7, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": MUTED, "grid.alpha": 0.18, "grid.linewidth": 0.7,
    "axes.axisbelow": True, "xtick.major.size": 0, "ytick.major.size": 0,
    "legend.frameon": False, "legend.fontsize": 9, "figure.constrained_layout.use": True,
}


def draw(name: str, size: tuple[float, float], paint: Callable[[Figure], None], folder: Path) -> str:
    """Paint a figure, save it as `folder/name.svg` and `.png`, and return it as SVG for a page."""
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size)
        paint(figure)
        _number(figure)
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", dpi=200, facecolor="white")
        figure.set_layout_engine("none")  # keep what the first drawing laid out
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    (folder / f"{name}.svg").write_text(buffer.getvalue(), encoding="utf-8")
    return inline(buffer.getvalue(), name)


def belongs_to(method: str, *artists: Artist) -> None:
    """Name whose artists these are, so that a page can bring one method to the fore."""
    for artist in artists:
        artist.set_gid(f"of-{method}")


def _number(figure: Figure) -> None:
    """Ids must be unique in a file: number the artists of a method."""
    for place, artist in enumerate(figure.findobj(lambda artist: artist.get_gid() is not None)):
        artist.set_gid(f"{place}-{artist.get_gid()}")


def inline(svg: str, name: str) -> str:
    """Make a stand-alone SVG fit for a page: no prologue, own ids, the page's colours and fonts.

    The figure's description stands outside it, so assistive technology passes over its insides.
    """
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href", "href").replace(INK, "currentColor")
    svg = svg.replace(MUTED, "var(--soft)").replace(PAPER, "var(--card)")
    svg = re.sub(r'\bid="\d+-of-([^"]*)"', r'data-method="\1"', svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1 aria-hidden="true"', svg, count=1)
    return re.sub(r"font-family: [^;\"]*; ", "", svg)
