"""The gate's verdict as the page shows it beside the speed-ups. It compares no answers."""

from dataclasses import dataclass
from typing import Any

from dashboards.report.records import RunRecords


@dataclass
class Count:
    """Of compared answers, those equal to vanilla's and those that differ by rounding alone (ties)."""

    equal: int = 0
    ties: int = 0
    answers: int = 0

    @property
    def holds(self) -> bool:
        return self.equal + self.ties == self.answers


@dataclass(frozen=True)
class Gate:
    """What `specflash verify` found.

    state   holds; broken; stale: it judged other weights than were timed; missing
    counts  method -> its answers over all checks
    """

    state: str
    counts: dict[str, Count]

    @property
    def holds(self) -> bool:
        return self.state == "holds"

    @property
    def every_token(self) -> bool:
        """It holds, and not even rounding made an answer differ."""
        return self.holds and not any(count.ties for count in self.counts.values())


def read_gate(run: RunRecords) -> Gate:
    if run.verdict is None:
        return Gate("missing", {})
    counts: dict[str, Count] = {}
    for line in run.verdict["lines"]:
        count = counts.setdefault(line["method"], Count())
        count.equal += line["equal"]
        count.ties += line.get("ties", 0)
        count.answers += line["answers"]
    if _drafts(run.verdict) != _drafts(run.summary):
        return Gate("stale", counts)
    return Gate("holds" if run.verdict["lossless"] else "broken", counts)


def _drafts(record: dict[str, Any]) -> dict[str, str]:
    return record.get("fingerprint", {}).get("drafts", {})
