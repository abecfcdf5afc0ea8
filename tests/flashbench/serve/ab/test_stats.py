"""The live figures are those of `specflash.metrics` on the same accounts, and none stands without its interval."""

from dataclasses import replace

import pytest

from flashbench.serve.ab.pairs import Answer, Pair, Pairs, baseline_first
from flashbench.serve.ab.stats import line, told
from flashbench.serve.events import Committed, Finished
from specflash import metrics
from specflash.metrics import DECODE, E2E
from tests.flashbench.serve.ab.decoders import order, pair, row


@pytest.fixture
def pairs():
    """Ten prompts, the last of them three times, two pairs of which one of the answers had company."""
    uneven = [pair(number, seconds=0.4 + 0.02 * number, first=("vanilla", "specflash")[number % 2])
              for number in [*range(10), 9, 9]]
    return [replace(one, timed=place not in (2, 11)) for place, one in enumerate(uneven)]


def test_figures_are_those_of_the_metrics_on_the_same_rows(pairs):
    found = line(pairs)
    ours, theirs = [one.ours for one in pairs], [one.theirs for one in pairs]
    timed = [one for one in pairs if one.timed]
    for name, window in (("speedup_decode", DECODE), ("speedup_e2e", E2E)):
        both = [one.ours for one in timed], [one.theirs for one in timed]
        ends = metrics.speedup_interval(*both, window)
        assert found[name] == {"value": metrics.speedup(*both, window).pooled, "interval": [ends.low, ends.high],
                               "prompts": 9, "more": 0}
    for method, rows in (("specflash", ours), ("vanilla", theirs)):
        ends = metrics.accept_length_interval(rows)
        assert found["accept_length"][method] == {"value": metrics.accept_length(rows).pooled,
                                                  "interval": [ends.low, ends.high], "prompts": 10, "more": 0}
    assert [each["value"] for each in found["acceptance_by_position"]["specflash"]] == [0.5, 0.5, 0, 0]
    assert found["acceptance_by_position"]["vanilla"] == []


def test_it_counts_pairs_prompts_and_who_ran_first(pairs):
    found = line(pairs)
    assert (found["pairs"], found["timed"], found["prompts"]) == (12, 10, 10)
    assert found["first"] == {"vanilla": 5, "specflash": 7}
    assert found["by_first"]["vanilla"] == {"value": None, "interval": None, "prompts": 4, "more": 2}


@pytest.mark.parametrize("prompts", [1, 2, 5])
def test_few_prompts_have_no_figure_and_say_how_many_more_it_takes(prompts):
    found = line([pair(number) for number in range(prompts)])
    nothing = {"value": None, "interval": None, "prompts": prompts, "more": 6 - prompts}
    assert found["speedup_decode"] == found["identical_share"] == found["accept_length"]["specflash"] == nothing
    assert found["acceptance_by_position"]["specflash"] == [nothing] * 4


def test_the_same_prompt_again_is_no_further_prompt():
    assert line([pair(0)] * 8)["speedup_decode"]["prompts"] == 1


def test_an_answer_of_one_token_has_no_time_after_its_first():
    short = replace(pair(6), ours=row(pair(6).prompt, kept=(), drafted=()))
    assert line([*(pair(number) for number in range(6)), short])["speedup_decode"]["prompts"] == 6


def test_prompts_that_were_ever_answered_otherwise_are_not_identical():
    others = [pair(9, identical=False, kind="real"), pair(9), pair(8, identical=None)]
    found = line([*(pair(number) for number in range(7)), *others])
    assert found["identical_share"]["value"] == 7 / 8
    assert found["differences"] == {"real": 1}


def test_a_position_that_was_never_kept_may_still_be():
    never = line([pair(number) for number in range(10)])["acceptance_by_position"]["specflash"][3]
    assert never == {"value": 0, "interval": [0, pytest.approx(0.2775, abs=1e-4)], "prompts": 10, "more": 0}


def test_of_equal_answers_alone_the_share_is_still_uncertain():
    share = line([pair(number) for number in range(10)])["identical_share"]
    assert share["value"] == 1
    assert share["interval"] == [pytest.approx(0.7225, abs=1e-4), 1]


def test_what_is_kept_is_bounded_and_what_was_ever_is_counted():
    some = Pairs(keep=20)
    for number in range(300):
        some.add(pair(number, identical=number % 3 > 0, kind=None if number % 3 else "tie"))
    (found,) = told(some)
    assert (found["pairs"], found["ever"]) == (
        20, {"pairs": 300, "greedy": 300, "identical": 200, "differences": {"tie": 100}})
    assert len(some.differences) == 100


def test_a_pair_is_the_same_from_disk():
    one = pair(3, kind="tie", identical=False, position=2, gap=0.25)
    assert Pair.from_json(one.to_json()) == one


def test_an_answer_is_what_its_events_say():
    answer = Answer("eagle", order())
    for event in (Committed((5,), "", 0, 0), Committed((6, 7), "", 4, 1)):
        answer.take(event)
    assert answer.account is None
    answer.take(Finished("", "stop", (1,), (4,), (2,), {"verify": 0.5}))
    assert answer.ids == [5, 6, 7]
    assert (list(answer.account.kept), list(answer.account.committed), answer.account.tokens) == ([1], [2], 3)


def test_the_baseline_is_vanilla_else_who_is_served_first():
    methods = ["eagle", "specflash", "vanilla"]
    assert baseline_first("vanilla", "eagle", methods) == baseline_first("eagle", "vanilla", methods) == (
        "vanilla", "eagle")
    assert baseline_first("specflash", "eagle", methods) == ("eagle", "specflash")
