"""The gate's verdict as the page shows it beside the speed-ups. It compares no answers."""

from dataclasses import dataclass
from typing import Any

from dashboards.report.records import RunRecords


@dataclass(frozen=True)
class Gate:
    """What `specflash verify` found.

    state   holds; broken; stale: it judged other weights than were timed; missing
    counts  method -> (equal answers, compared answers), over all checks
    """

    state: str
    counts: dict[str, tuple[int, int]]

    @property
    def holds(self) -> bool:
        return self.state == "holds"


def read_gate(run: RunRecords) -> Gate:
    if run.verdict is None:
        return Gate("missing", {})
    counts: dict[str, tuple[int, int]] = {}
    for line in run.verdict["lines"]:
        equal, answers = counts.get(line["method"], (0, 0))
        counts[line["method"]] = equal + line["equal"], answers + line["answers"]
    if _drafts(run.verdict) != _drafts(run.summary):
        return Gate("stale", counts)
    return Gate("holds" if run.verdict["lossless"] else "broken", counts)


def _drafts(record: dict[str, Any]) -> dict[str, str]:
    return record.get("fingerprint", {}).get("drafts", {})
