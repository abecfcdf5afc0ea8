"""The queue in front of a decoder: who may wait, who is told to come back, who is told that it ends."""

import asyncio
from contextlib import aclosing

import pytest

from flashbench.serve.admission import Admission
from flashbench.serve.refusal import Refusal


class Gate:
    """A decoder whose requests begin and end when they are let."""

    def __init__(self):
        self.begin, self.end = asyncio.Event(), asyncio.Event()
        self.closed = 0

    async def decode(self, order):
        try:
            await self.begin.wait()
            yield "started"
            await self.end.wait()
            yield "finished"
        finally:
            self.closed += 1


def admission(gate: Gate, places: int = 2) -> Admission:
    return Admission("eagle", gate, at_once=1, places=places, closing=asyncio.Event())


async def read(door: Admission) -> list:
    async with aclosing(door.decode(None)) as events:
        return [event async for event in events]


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_one_more_than_may_wait_is_told_when_to_come_back():
    async def run():
        gate = Gate()
        door = admission(gate)
        waiting = [asyncio.create_task(read(door)) for _ in range(3)]  # one is decoded, two wait
        await settle()
        with pytest.raises(Refusal) as caught:
            await read(door)
        assert (caught.value.status, caught.value.code) == (429, "queue_full")
        assert caught.value.message == "2 requests wait for `eagle` already; try again later"
        assert caught.value.headers == {"Retry-After": "1"}
        assert caught.value.body()["error"]["type"] == "rate_limit_error"
        gate.begin.set()
        gate.end.set()
        assert await asyncio.gather(*waiting) == [["started", "finished"]] * 3
        assert await read(door) == ["started", "finished"]  # there is room again

    asyncio.run(run())


def test_retry_after_follows_a_running_mean_of_what_requests_took():
    door = admission(Gate())
    assert door._until_a_place() == 1
    door._remember(10)
    assert door._until_a_place() == 10
    door._remember(20)
    assert door._until_a_place() == 12  # 0.2 · 20 + 0.8 · 10
    door._at_once = 4
    assert door._until_a_place() == 3


def test_a_request_that_leaves_gives_its_place_back():
    async def run():
        gate = Gate()
        door = admission(gate, places=1)
        for _ in range(5):
            tasks = [asyncio.create_task(read(door)) for _ in range(2)]
            await settle()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert gate.closed == 10

    asyncio.run(run())


def test_at_the_end_what_waits_is_refused_and_what_has_begun_goes_on():
    async def run():
        gate = Gate()
        door = admission(gate)
        gate.begin.set()
        running = asyncio.create_task(read(door))
        await settle()
        gate.begin.clear()
        waiting = asyncio.create_task(read(door))
        await settle()
        door._closing.set()
        for late in (waiting, read(door)):
            with pytest.raises(Refusal) as caught:
                await late
            assert (caught.value.status, caught.value.code) == (503, "shutting_down")
        gate.end.set()
        assert await running == ["started", "finished"]
        assert gate.closed == 2

    asyncio.run(run())
