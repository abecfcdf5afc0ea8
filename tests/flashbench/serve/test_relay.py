"""From a blocking iterator in a thread to a coroutine: order, errors, and stopping within a step."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

import pytest

from flashbench.serve.relay import relay


class Steps:
    """A decoder that takes one step per permit, and counts steps and closes."""

    def __init__(self, permits: int):
        self.permits = threading.Semaphore(permits)
        self.taken = 0
        self.closed = threading.Event()

    def run(self):
        try:
            while True:
                self.permits.acquire()
                self.taken += 1
                yield self.taken
        finally:
            self.closed.set()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_items_arrive_in_order_and_end(pool):
    async def read():
        return [item async for item in relay(lambda: (number for number in range(100)), pool)]

    assert asyncio.run(read()) == list(range(100))


def test_a_step_without_an_item_tells_nothing(pool):
    async def read():
        return [item async for item in relay(lambda: iter_of(None, 1, None, None, 2, None), pool)]

    assert asyncio.run(read()) == [1, 2]


def test_an_error_in_the_thread_is_raised_to_the_reader(pool):
    def fail():
        yield 1
        raise ZeroDivisionError("in the thread")

    async def read():
        return [item async for item in relay(fail, pool)]

    with pytest.raises(ZeroDivisionError, match="in the thread"):
        asyncio.run(read())


def test_the_event_loop_runs_while_the_thread_is_busy(pool):
    steps = Steps(permits=0)

    async def read():
        async with aclosing(relay(steps.run, pool)) as items:
            waiting = asyncio.ensure_future(anext(items))
            await asyncio.sleep(0.05)  # a blocked loop would never come back here
            assert not waiting.done()
            steps.permits.release()
            assert await waiting == 1
        steps.permits.release()

    asyncio.run(read())


def test_closing_stops_within_the_step_it_is_in(pool):
    steps = Steps(permits=2)

    async def read():
        async with aclosing(relay(steps.run, pool)) as items:
            assert await anext(items) == 1
        steps.permits.release(10)
        await asyncio.to_thread(steps.closed.wait, 5)

    asyncio.run(read())
    assert steps.closed.is_set()
    assert steps.taken <= 3  # the first, the one under way, and none after the stop was seen


def test_cancelling_the_reader_frees_the_thread_for_the_next(pool):
    steps = Steps(permits=1)

    async def read():
        reader = asyncio.ensure_future(anext(_skip_first(relay(steps.run, pool))))
        while steps.taken < 1:
            await asyncio.sleep(0.001)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        steps.permits.release()
        return [item async for item in relay(lambda: iter_of("next"), pool)]

    assert asyncio.run(read()) == ["next"]
    assert steps.taken <= 2


def test_work_whose_reader_left_while_it_queued_never_starts(pool):
    steps, second = Steps(permits=1), Steps(permits=10)

    async def read():
        async with aclosing(relay(steps.run, pool)) as first:
            await anext(first)
            queued = asyncio.ensure_future(anext(relay(second.run, pool)))
            await asyncio.sleep(0.01)
            queued.cancel()
            with pytest.raises(asyncio.CancelledError):
                await queued
        steps.permits.release()

    asyncio.run(read())
    pool.shutdown(wait=True)
    assert second.taken == 0


async def _skip_first(items):
    async with aclosing(items):
        await anext(items)
        async for item in items:
            yield item


def iter_of(*items):
    yield from items
