"""What a request adds to which metric, each number worked out by hand, and what every outcome leaves behind."""

import asyncio
from collections import Counter, defaultdict
from contextlib import aclosing, suppress

import pytest

from flashbench.serve.events import Committed, Finished, Refused, Started
from flashbench.serve.metered import Metered
from flashbench.serve.metrics import METRICS, series
from flashbench.serve.refusal import Refusal
from tests.flashbench.serve.test_api import Script

SECONDS = {"prefill": 0.5, "draft": 0.25, "other": 0.0}
ANSWER = (Started(7), Committed((5,), "A", 0, 0), Committed((6, 7, 8), "bcd", 4, 2), Committed((9,), "e", 4, 0),
          Committed((1, 2), "fg", 2, 2), Finished("", "stop", (2, 0, 2), (4, 4, 2), (3, 1, 2), SECONDS))


class Book:
    """A Recorder that keeps sums of counters, values of gauges, and what histograms saw."""

    def __init__(self):
        self.sums, self.gauges, self.seen = Counter(), {}, defaultdict(list)

    def __call__(self, name, value, method, **tags):
        metric = METRICS[name]
        assert (method, set(tags)) == ("drafty", set(metric.tags))
        key = (name, *tags.values()) if tags else name
        if metric.kind == "counter":
            assert value > 0
            self.sums[key] += value
        elif metric.kind == "gauge":
            self.gauges[name] = value
        else:
            self.seen[name].append(value)


def decoded(*events, leave_after=None):
    """The book of one request, its reader leaving after so many events; each look at the clock is a second on."""
    book, clock = Book(), iter(range(100))

    async def read():
        async with aclosing(Metered("drafty", Script(*events), book, lambda: next(clock)).decode(None)) as got:
            with suppress(Refusal, ZeroDivisionError):
                for _ in range(leave_after or 100):
                    await anext(got, None)

    asyncio.run(read())
    return book


def test_counters_of_a_finished_answer():
    assert decoded(*ANSWER).sums == {
        "prompt_tokens": 7, "generation_tokens": 7, "decode_tokens": 6, "rounds": 3, "spec_decode_num_drafts": 3,
        "spec_decode_num_draft_tokens": 10, "spec_decode_num_accepted_tokens": 4,
        ("spec_decode_num_accepted_tokens_per_pos", "0"): 2, ("spec_decode_num_accepted_tokens_per_pos", "1"): 2,
        ("phase_seconds", "prefill"): 0.5, ("phase_seconds", "draft"): 0.25, ("requests", "finished"): 1}


def test_times_are_from_the_request_and_per_token_behind_the_first():
    assert decoded(*ANSWER).seen == {  # asked at 0, first token at 1, finished at 2
        "time_to_first_token_seconds": [1], "e2e_request_latency_seconds": [2],
        "time_per_output_token_seconds": [1 / 6]}


def test_vanilla_has_rounds_and_no_drafts():
    sums = decoded(Started(1), Committed((1,), "a", 0, 0), Committed((2,), "b", 0, 0)).sums
    assert sums["rounds"] == 1
    assert not any("spec_decode" in str(name) for name in sums)


@pytest.mark.parametrize(("events", "outcome"), [
    ((Refused("too long", "x"),), "refused"),
    ((Refusal(400, "no picture"),), "refused"),
    ((Refusal(429, "full"),), "busy"),
    ((*ANSWER[:3], Refusal(503, "gone")), "failed"),
    ((*ANSWER[:3], ZeroDivisionError()), "failed"),
])
def test_what_did_not_finish_is_counted_as_what_it_was(events, outcome):
    book = decoded(*events)
    assert {name: value for name, value in book.sums.items() if "requests" in name} == {("requests", outcome): 1}
    assert "e2e_request_latency_seconds" not in book.seen


@pytest.mark.parametrize("after", [1, 3])
def test_a_client_that_leaves_is_counted_with_what_was_decoded_for_it(after):
    book = decoded(*ANSWER, leave_after=after)
    assert book.sums[("requests", "disconnected")] == 1
    assert book.sums["generation_tokens"] == (0 if after == 1 else 4)


def test_a_refusal_is_one_even_if_nobody_reads_on():
    assert decoded(Refused("too long", "x"), leave_after=1).sums == {("requests", "refused"): 1}


def test_gauges_follow_a_request_and_return_to_nothing():
    book, seen = Book(), []

    async def read():
        metered = Metered("drafty", Script(*ANSWER), book)
        seen.append(dict(book.gauges))
        async for _ in metered.decode(None):
            seen.append(dict(book.gauges))

    asyncio.run(read())
    nothing, running = ({"num_requests_waiting": 0, "num_requests_running": number} for number in (0, 1))
    assert seen == [nothing] + [running] * len(ANSWER)
    assert book.gauges == nothing


def test_series_have_the_names_that_ray_makes_of_them():
    names = series()
    assert "ray_specflash_spec_decode_num_drafts_total" in names
    assert "ray_specflash_spec_decode_num_accepted_tokens_per_pos_total" in names
    assert "ray_specflash_time_to_first_token_seconds_bucket" in names
    assert "ray_specflash_num_requests_running" in names


def test_buckets_of_histograms_grow_and_nothing_of_a_request_is_a_tag():
    for metric in METRICS.values():
        assert list(metric.buckets) == sorted(set(metric.buckets))
        assert bool(metric.buckets) == (metric.kind == "histogram")
        assert set(metric.tags) <= {"outcome", "phase", "position"}
