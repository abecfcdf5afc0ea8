"""What a round costs: the c of the roofline R = A / (1 + c). It reads finished lines of a summary."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboards.report.lines import Record, vanilla_of


@dataclass(frozen=True)
class Cost:
    """Seconds of one round of a method in units of one token of vanilla; 1 + c is their sum.

    verify is the pass over all drafted tokens together, so verify - 1 is what its further rows cost.
    """

    draft: float
    verify: float
    other: float

    @property
    def c(self) -> float:
        return self.draft + self.verify + self.other - 1


def round_costs(lines: Sequence[Record]) -> list[tuple[Record, Cost]]:
    """Of every line of a drafting method that has a speed-up: where that is refused, so are its parts."""
    return [(line, _cost(line, vanilla_of(line, lines))) for line in lines
            if line["method"] != "vanilla" and line["speedup_decode"] and line["accept_length"]]


def _cost(line: Record, vanilla: Record) -> Cost:
    token = sum(vanilla["seconds_per_round"].values()) / vanilla["accept_length"]
    return Cost(**{phase: line["seconds_per_round"][phase] / token for phase in ("draft", "verify", "other")})
