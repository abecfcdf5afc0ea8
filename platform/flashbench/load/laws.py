"""What must hold of a server under load. It sends nothing."""

from collections.abc import Iterator, Sequence

from flashbench.load.client import Outcome
from flashbench.load.drive import Health
from flashbench.load.memory import Samples, growth

MOST_GROWTH = 1.05
"""Of a process's memory from the middle third of the run to its last."""
SHOWN = 3

Broken = dict[str, list[str]]
"""law -> the offences against it; empty where it holds"""


def broken_laws(outcomes: Sequence[Outcome], vanilla: Sequence[Outcome], before: Health, after: Health,
                samples: Samples) -> Broken:
    """vanilla: the reference answers; before, after: the server's own account around all of this."""
    return {"none lost": [_told(one) for one in [*vanilla, *outcomes] if one.end == "lost"],
            "none hung": [_told(one) for one in [*vanilla, *outcomes] if one.end == "hung"],
            "every request ends as it should": list(_wrong_ends([*vanilla, *outcomes])),
            "every greedy answer is vanilla's": list(_other_texts(outcomes, vanilla)),
            "nothing is left running, nothing failed": list(_left_behind(before, after)),
            f"memory is flat (at most ×{MOST_GROWTH})": list(_grown(samples))}


def _wrong_ends(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for one in outcomes:
        if one.end in ("lost", "hung", "left"):
            continue
        expected = "refused" if one.ask.status != 200 else "answered"
        if (one.end, one.status, one.code) != (expected, one.ask.status, one.ask.code):
            yield f"{_told(one)}, not {expected} {one.ask.status} {one.ask.code or ''}".rstrip()


def _other_texts(outcomes: Sequence[Outcome], vanilla: Sequence[Outcome]) -> Iterator[str]:
    expected = {one.ask.greedy: one.text for one in vanilla if one.end == "answered"}
    for one in outcomes:
        if one.end == "answered" and one.ask.greedy and one.text != expected.get(one.ask.greedy):
            yield f"{one.ask.method} says {one.text!r}, vanilla {expected.get(one.ask.greedy)!r}"


def _left_behind(before: Health, after: Health) -> Iterator[str]:
    for method, tally in after.items():
        if tally["running"]:
            yield f"{method} still runs {tally['running']}"
        if failed := tally["failed"] - before.get(method, tally)["failed"]:
            yield f"{method} failed {failed} times"


def _grown(samples: Samples) -> Iterator[str]:
    for process, held in samples.items():
        grown = growth(held)
        if grown is not None and grown > MOST_GROWTH:
            yield f"{process} grew ×{grown:.2f} to {held[-1] / 1e6:.0f} MB"


def _told(outcome: Outcome) -> str:
    what = (f"{outcome.ask.kind} of {outcome.ask.method}: {outcome.end} {outcome.status or ''} {outcome.code or ''} "
            f"after {outcome.seconds:.1f} s {outcome.reason}")
    return " ".join(what.split())  # what is missing leaves no gap
