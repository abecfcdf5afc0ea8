"""A blocking iterator run in a thread, read by a coroutine. It knows neither what runs nor who reads."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Executor
from contextlib import closing
from threading import Event
from typing import TypeVar

Item = TypeVar("Item")


async def relay(work: Callable[[], Generator[Item | None, None, None]], pool: Executor) -> AsyncGenerator[Item, None]:
    """The items of `work()`, which runs in `pool` and never blocks the event loop. None is a step without an item.

    When the reader stops (closed, cancelled), the thread takes at most the one step it is in, closes
    the iterator and is free again. An exception of the iterator is raised here.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Item | None] = asyncio.Queue()  # None is the end
    stopped = Event()

    def run() -> None:
        try:
            if not stopped.is_set():
                with closing(work()) as items:
                    for item in items:
                        if stopped.is_set():
                            break
                        if item is not None:
                            loop.call_soon_threadsafe(queue.put_nowait, item)
        finally:
            loop.call_soon_threadsafe(queue.put_nowait, None)

    running = loop.run_in_executor(pool, run)
    try:
        while (item := await queue.get()) is not None:
            yield item
        await running
    finally:
        stopped.set()
