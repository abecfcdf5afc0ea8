"""How long requests took. It knows no law and no server."""

from collections.abc import Sequence
from math import ceil
from statistics import median
from typing import Any

from flashbench.load.client import Outcome


def times(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Seconds of the answered ones; None where there are none. p95 is one that occurred: 95 % took no longer."""
    answered = sorted(one.seconds for one in outcomes if one.end == "answered")
    first = [one.first_s for one in outcomes if one.end == "answered" and one.ask.stream and one.first_s]
    return {"requests": len(outcomes), "answered": len(answered),
            "p50_s": median(answered) if answered else None,
            "p95_s": answered[ceil(0.95 * len(answered)) - 1] if answered else None,
            "first_text_p50_s": median(first) if first else None}
