"""Matplotlib figures as files and as SVG that lives inside a page. It knows no data.

Inside a page a figure has no background and draws its text and axes in the page's own colour,
so the same figure is legible in light and in dark.
"""

import io
import re
from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

INK = "#1b1f24"
MUTED = "#8b8f96"
PALETTE = ("#8b8f96", "#d97a08", "#0a9396", "#7b61d1", "#c0416b", "#5b8c2a")

STYLE = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9.5,
    "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.edgecolor": MUTED, "axes.linewidth": 0.7, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": MUTED, "grid.alpha": 0.22, "grid.linewidth": 0.7,
    "axes.axisbelow": True, "xtick.major.size": 0, "ytick.major.size": 0,
    "legend.frameon": False, "legend.fontsize": 9, "figure.constrained_layout.use": True,
}


def draw(name: str, size: tuple[float, float], paint: Callable[[Figure], None], folder: Path) -> str:
    """Paint a figure, save it as `folder/name.svg` and `.png`, and return it as SVG for a page."""
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size)
        paint(figure)
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", dpi=160, facecolor="white")
        figure.set_layout_engine("none")  # keep what the first drawing laid out
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    (folder / f"{name}.svg").write_text(buffer.getvalue(), encoding="utf-8")
    return inline(buffer.getvalue(), name)


def inline(svg: str, name: str) -> str:
    """Make a stand-alone SVG fit for a page: no prologue, own ids, the page's ink and fonts."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href", "href").replace(INK, "currentColor")
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1 role="img"', svg, count=1)
    return re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px system-ui, sans-serif", svg)
