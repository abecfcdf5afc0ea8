"""The laws of a loaded server: each, broken on purpose, is named with its offence."""

from dataclasses import replace

import pytest

from flashbench.load.client import Outcome
from flashbench.load.laws import broken_laws
from flashbench.load.memory import growth
from flashbench.load.mix import Ask

GREEDY = Ask("greedy", "eagle", b"", greedy="key")
BAD = Ask("bad", "eagle", b"", status=404, code="model_not_found")
VANILLA = [Outcome(replace(GREEDY, method="vanilla"), "answered", 1.0, 200, text="A boat.")]
GOOD = [Outcome(GREEDY, "answered", 1.0, 200, text="A boat."),
        Outcome(BAD, "refused", 0.1, 404, "model_not_found"),
        Outcome(Ask("leaving", "eagle", b"", stream=True, leave_after=1), "left", 0.1, 200)]
BEFORE = {"eagle": {"running": 0, "failed": 1}}
FLAT = {"replica": [100, 200, 200, 200, 200, 200]}


def judged(outcomes=GOOD, after=BEFORE, samples=FLAT) -> dict[str, list[str]]:
    return {law: offences for law, offences in broken_laws(outcomes, VANILLA, BEFORE, after, samples).items()
            if offences}


def test_a_server_as_it_should_be_breaks_none():
    assert judged() == {}


@pytest.mark.parametrize(("change", "law", "offence"), [
    ({"outcomes": [replace(GOOD[0], end="lost", reason="cut")]}, "none lost",
     "greedy of eagle: lost 200 after 1.0 s cut"),
    ({"outcomes": [replace(GOOD[0], end="hung", status=None)]}, "none hung", "greedy of eagle: hung after 1.0 s"),
    ({"outcomes": [replace(GOOD[0], end="refused", status=429, code="queue_full")]},
     "every request ends as it should", "greedy of eagle: refused 429 queue_full after 1.0 s, not answered 200"),
    ({"outcomes": [Outcome(BAD, "answered", 0.1, 200)]}, "every request ends as it should",
     "bad of eagle: answered 200 after 0.1 s, not refused 404 model_not_found"),
    ({"outcomes": [replace(GOOD[0], text="A bee.")]}, "every greedy answer is vanilla's",
     "eagle says 'A bee.', vanilla 'A boat.'"),
    ({"after": {"eagle": {"running": 1, "failed": 1}}}, "nothing is left running, nothing failed",
     "eagle still runs 1"),
    ({"after": {"eagle": {"running": 0, "failed": 3}}}, "nothing is left running, nothing failed",
     "eagle failed 2 times"),
    ({"samples": {"replica": [200, 200, 200, 200, 220, 220]}}, "memory is flat (at most ×1.05)",
     "replica grew ×1.10 to 0 MB"),
])
def test_a_broken_law_is_named_with_its_offence(change, law, offence):
    assert judged(**change) == {law: [offence]}


def test_growth_leaves_the_warm_up_out_and_needs_three_samples():
    assert growth([1, 1, 10, 10, 10, 10]) == 1
    assert growth([5, 5]) is None
