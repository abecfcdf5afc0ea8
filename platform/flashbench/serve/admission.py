"""Who may wait for a decoder, and what becomes of those who wait when it ends. It knows no HTTP and no model."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from math import ceil
from typing import NoReturn

from flashbench.serve.disconnect import unless
from flashbench.serve.events import Decoder, Event, Order
from flashbench.serve.refusal import Refusal

MEMORY = 0.2
"""Weight of the newest request in the running mean of their seconds."""


class Admission:
    """A Decoder in front of which a limited number of requests wait.

    decoder   takes `at_once` requests together; what comes beside them waits for its first event
    places    how many may wait. One more is refused with 429 and the seconds after which, as requests went
              lately, a place will be free
    closing   once set, what waits and what comes is refused with 503; what has begun goes on
    """

    def __init__(self, name: str, decoder: Decoder, at_once: int, places: int, closing: asyncio.Event):
        self._name, self._decoder, self._closing = name, decoder, closing
        self._at_once, self._places = at_once, places
        self._inside = 0
        self._mean_s: float | None = None

    async def decode(self, order: Order) -> AsyncGenerator[Event, None]:
        """Raises Refusal 429 or 503 before any event; what the decoder raises, at any time."""
        self._check_room()
        self._inside += 1
        try:
            async with aclosing(self._decoder.decode(order)) as events:
                yield await unless(self._closed(), anext(events))
                begun = time.monotonic()
                async for event in events:
                    yield event
                self._remember(time.monotonic() - begun)
        finally:
            self._inside -= 1

    def _check_room(self) -> None:
        if self._closing.is_set():
            raise _ending()
        if self._inside >= self._at_once + self._places:
            raise Refusal(429, f"{self._places} requests wait for `{self._name}` already; try again later",
                          code="queue_full", retry_after=self._until_a_place())

    def _until_a_place(self) -> int:
        """Seconds, at least 1."""
        return max(1, ceil((self._mean_s or 0) / self._at_once))

    def _remember(self, seconds: float) -> None:
        self._mean_s = seconds if self._mean_s is None else MEMORY * seconds + (1 - MEMORY) * self._mean_s

    async def _closed(self) -> NoReturn:
        await self._closing.wait()
        raise _ending()


def _ending() -> Refusal:
    return Refusal(503, "the server is shutting down and takes no more requests", code="shutting_down")
