"""Which colour means what, on every page and in every figure: one per method, one per phase. It draws nothing.

Each stands out on white and on the dark page (at least 3 : 1), and no two methods look alike to
colour-blind eyes (`tests/dashboards/test_colours.py`).
"""

from collections.abc import Sequence
from pathlib import Path

PALETTE = Path(__file__).with_name("palette.css").read_text(encoding="utf-8")
"""The pages' own colours, light and dark, and their typefaces: custom properties of CSS."""

METHODS = {"vanilla": "#84888f", "specflash": "#0f7fc0", "eagle": "#d97a08",
           "medusa": "#6950e5", "text-only": "#b28a62", "ngram": "#e51639"}
SPARE = ("#0c7f32", "#cc14ad", "#996735")
"""For methods without a colour of their own, in the order in which they come."""

PHASES = {"vision": "#4d8f7a", "prefill": "#8b8b55", "draft_prefill": "#a577b0", "draft": "#b5507a",
          "verify": "#647a9c", "other": "#8f8f86"}


def colours(methods: Sequence[str]) -> dict[str, str]:
    """The same method has the same colour in every run."""
    others = [method for method in methods if method not in METHODS]
    return {method: METHODS.get(method) or SPARE[others.index(method) % len(SPARE)] for method in methods}
