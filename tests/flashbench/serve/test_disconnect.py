"""A client that leaves before its answer is ready ends the work for it."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect

from flashbench.serve.disconnect import Broken, unless_disconnected


class Client:
    """Sends nothing more, and leaves when told to."""

    def __init__(self):
        self.left = asyncio.Event()

    async def receive(self):
        await self.left.wait()
        return {"type": "http.disconnect"}


def test_work_that_is_done_first_gives_its_result():
    async def answer():
        return 42

    async def run():
        return await unless_disconnected(Client().receive, answer())

    assert asyncio.run(run()) == 42


def test_an_error_of_the_work_is_raised():
    async def fail():
        raise ZeroDivisionError

    async def run():
        await unless_disconnected(Client().receive, fail())

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())


@pytest.mark.parametrize("how", ["disconnect", "cancel"])
def test_work_whose_client_left_is_cancelled_and_has_cleaned_up(how):
    cleaned = []

    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    async def run():
        client = Client()
        waiting = asyncio.ensure_future(unless_disconnected(client.receive, endless()))
        await asyncio.sleep(0.01)
        client.left.set() if how == "disconnect" else waiting.cancel()
        await waiting

    with pytest.raises(ClientDisconnect if how == "disconnect" else asyncio.CancelledError):
        asyncio.run(run())
    assert cleaned == [True]


def test_a_connection_that_breaks_is_a_client_that_left():
    """Ray Serve then cancels a task of its own, and says so to who reads."""
    async def broken():
        raise RuntimeError("task was cancelled")

    async def app(scope, receive, send):
        await unless_disconnected(receive, asyncio.Event().wait())

    with pytest.raises(ClientDisconnect):
        asyncio.run(Broken(app)({"type": "http"}, broken, None))
