"""Events together or one by one: none is lost, their order stays, and every round can be stopped after."""

import pytest

from flashbench.serve.bundle import bundled
from flashbench.serve.events import Committed, Finished, Refused, Started

TOKEN, ROUNDS = Committed((1,), "a", 0, 0), [Committed((number,), "b", 3, 0) for number in range(4)]
END = Finished("", "stop", (0,) * 4, (3,) * 4, (1,) * 4, {})
ANSWER = [Started(5), TOKEN, *ROUNDS, END]


def test_of_a_stream_every_event_travels_alone():
    assert list(bundled(ANSWER, whole=False)) == [(event,) for event in ANSWER]


def test_of_a_whole_answer_the_rounds_travel_with_the_end_and_the_first_token_alone():
    assert list(bundled(ANSWER, whole=True)) == [(Started(5),), (TOKEN,), *[None] * 4, (*ROUNDS, END)]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("events", [[Refused("no", "why")], [Started(5), TOKEN, END], [Started(5), TOKEN, TOKEN, END]])
def test_nothing_is_lost_and_nothing_changes_places(events, whole):
    assert [event for bundle in bundled(events, whole) if bundle for event in bundle] == events


def test_each_step_is_asked_for_when_the_one_before_has_been_told():
    asked = []

    def events():
        for number, event in enumerate(ANSWER):
            asked.append(number)
            yield event

    for number, _ in enumerate(bundled(events(), whole=True)):
        assert asked == list(range(number + 1))
