"""Noticing that a client has left while its answer is being made. It knows no route and no model.

A streamed answer notices by itself, because writing to it fails. Before the first byte nothing is
written, and not every server cancels a handler then.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from flashbench.serve.refusal import Refusal

Result = TypeVar("Result")


async def unless_disconnected(receive: Receive, work: Coroutine[None, None, Result]) -> Result:
    """The result of `work`; cancels it and raises ClientDisconnect when the client leaves first.

    receive  of a request whose body has been read
    """
    return await unless(_left(receive), work)


async def unless(hindrance: Coroutine[Any, Any, NoReturn], work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`; cancels it and raises what `hindrance` raises when that comes first."""
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(hindrance)
    try:
        await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else waiting.result()
    finally:
        working.cancel()
        waiting.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)  # until both have cleaned up


async def _left(receive: Receive) -> NoReturn:
    with connection_needed():
        while (await receive())["type"] != "http.disconnect":
            pass
    raise ClientDisconnect


@contextmanager
def connection_needed() -> Iterator[None]:
    """Reading from a client inside. Whatever the server raises then (Ray Serve: that a task of its own was
    cancelled) means that nobody is there any more."""
    try:
        yield
    except (ClientDisconnect, Refusal):
        raise
    except Exception as error:
        raise ClientDisconnect from error
