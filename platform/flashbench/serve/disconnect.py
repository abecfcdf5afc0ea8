"""Noticing that a client has left while its answer is being made. It knows no route and no model.

A streamed answer notices by itself, because writing to it fails. Before the first byte nothing is
written, and not every server cancels a handler then.
"""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

Result = TypeVar("Result")


async def unless_disconnected(receive: Receive, work: Coroutine[None, None, Result]) -> Result:
    """The result of `work`; cancels it and raises ClientDisconnect when the client leaves first.

    receive  of a request whose body has been read
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)  # until both have cleaned up


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
