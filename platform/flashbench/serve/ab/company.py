"""Who computes here at the moment, and who had no company. It knows nothing of what is computed.

An ingress sees what it hands out; what else the machine does it cannot see.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(eq=False)
class Work:
    """A piece of work. `alone` is final once it is over."""

    alone: bool = True


class Company:
    """All that is at work."""

    def __init__(self) -> None:
        self._working: set[Work] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()

    @contextmanager
    def working(self) -> Iterator[Work]:
        work = Work(alone=not self._working)
        for other in self._working:
            other.alone = False
        self._working.add(work)
        self._quiet.clear()
        try:
            yield work
        finally:
            self._working.remove(work)
            if not self._working:
                self._quiet.set()

    async def quiet(self) -> None:
        """Returns in an instant at which nothing is at work: what the caller begins without waiting begins alone."""
        while self._working:
            await self._quiet.wait()
