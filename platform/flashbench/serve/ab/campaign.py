"""One campaign: the timed pairs of two methods until a rule has enough. It keeps and computes; it writes no file."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from flashbench.serve.ab.pairs import Pair
from flashbench.serve.ab.rule import BY_HAND, ENOUGH, OUT_OF_TIME, Rule, is_look, prompts_wanted, verdict, width_of
from flashbench.serve.ab.stats import difference, line

Json = dict[str, Any]
MOST_TOLD = 100


@dataclass
class Campaign:
    """methods   the baseline and the method
    pairs     all that count, at most `rule.max_pairs`: those whose seconds can be compared
    looks     the line of stats.py at each look
    ended     why it is over, None as long as it goes on; ended_at: seconds since 1970
    """

    name: str
    methods: tuple[str, str]
    rule: Rule
    started_at: float
    pairs: list[Pair] = field(default_factory=list)
    looks: list[Json] = field(default_factory=list)
    ended: str | None = None
    ended_at: float | None = None
    _latest: Json | None = None

    def other(self, method: str) -> str | None:
        """Who decodes a second time what `method` has answered; None where it is not of the campaign."""
        return self.methods[1 - self.methods.index(method)] if method in self.methods else None

    def wants(self, pair: Pair) -> bool:
        return self.ended is None and pair.timed and (pair.baseline, pair.method) == self.methods

    def add(self, pair: Pair, now: float) -> bool:
        """Count the pair; returns whether this was a look, which takes a while: no work for an event loop."""
        self.pairs.append(pair)
        looked = is_look(len(self.pairs)) or len(self.pairs) >= self.rule.max_pairs
        if looked:
            self._latest = line(self.pairs)
            self.looks.append(self._latest)
            self._end(verdict(self.rule, self.looks[-1]["speedup_decode"], len(self.pairs)), now)
        return looked

    def known_of(self, pairs: int) -> bool:
        """The statistics of so many pairs are computed already."""
        return pairs == (0 if self._latest is None else self._latest["pairs"])

    def check_time(self, now: float) -> None:
        self._end(OUT_OF_TIME if now - self.started_at >= self.rule.max_seconds else None, now)

    def stop(self, now: float) -> None:
        self._end(BY_HAND, now)

    def told(self) -> Json:
        """What `GET /ab/campaign` and campaign.json say; may have to compute the statistics of all its pairs."""
        pairs = list(self.pairs)  # more may come meanwhile
        if not self.known_of(len(pairs)):
            self._latest = line(pairs)
        result = self._latest
        return {"name": self.name, "baseline": self.methods[0], "method": self.methods[1], "wanted": asdict(self.rule),
                "started_at": self.started_at, "ended": self.ended, "ended_at": self.ended_at,
                "reached": self.ended == ENOUGH, "pairs": len(pairs),
                "width": width_of(result["speedup_decode"]) if result else None,
                "prompts_wanted": prompts_wanted(self.rule, result["speedup_decode"]) if result else None,
                "result": result, "looks": list(self.looks),
                "differences": [difference(pair) for pair in pairs if pair.kind][-MOST_TOLD:]}

    def _end(self, reason: str | None, now: float) -> None:
        if self.ended is None and reason is not None:
            self.ended, self.ended_at = reason, now


def resumed(told: Json, pairs: Sequence[Pair], now: float) -> Campaign:
    """The campaign as it was before its server ended. Its looks are computed again, to the same figures.

    Raises KeyError or TypeError where `told` is not what `Campaign.told` says.
    """
    campaign = Campaign(told["name"], (told["baseline"], told["method"]), Rule(**told["wanted"]), told["started_at"])
    for pair in pairs:
        if campaign.wants(pair):
            campaign.add(pair, now)
    return campaign
