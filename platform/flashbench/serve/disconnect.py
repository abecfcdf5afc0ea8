"""Noticing that a client has left while its answer is being made. It knows no route and no model.

A streamed answer notices by itself, because writing to it fails. Before the first byte nothing is
written, and not every server cancels a handler then.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    while (await receive())["type"] != "http.disconnect":
        pass
    raise ClientDisconnect


class Broken:
    """ASGI middleware: a connection that breaks is a client that has left. Ray Serve raises that a task of its own
    was cancelled, to whoever reads next."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def heard() -> Message:
            try:
                return await receive()
            except Exception:
                return {"type": "http.disconnect"}

        await self._app(scope, heard if scope["type"] == "http" else receive, send)
