"""A target and one or several drafts on Ray Serve, one request at a time. It knows no HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from typing import Any

from ray import serve

from flashbench.drafts import ready_draft
from flashbench.ray_session import use_threads
from flashbench.serve.bundle import Bundle, bundled
from flashbench.serve.decode import answer
from flashbench.serve.events import Order
from flashbench.serve.relay import relay
from flashbench.settings import Settings
from specflash.targets import load_target


@serve.deployment
class Replica:
    """Its one decoding thread also keeps a stopped request and the next one apart."""

    def __init__(self, methods: tuple[str, ...], settings: Settings):
        use_threads(settings.serve.threads)
        self._pool = ThreadPoolExecutor(1, initializer=use_threads, initargs=(settings.serve.threads,))
        self._max_prompt_tokens = settings.serve.max_prompt_tokens
        self._target = load_target(settings.target.name, settings.target.weights, settings.serve.dtype,
                                   settings.target.device, device_map=settings.target.device_map)
        self._drafts = {method: ready_draft(settings, method, self._target) for method in methods}

    async def decode(self, method: str, order: Order) -> AsyncGenerator[Bundle, None]:
        def work() -> Generator[Bundle | None, None, None]:
            with closing(answer(self._target, self._drafts[method], order, self._max_prompt_tokens)) as events:
                yield from bundled(events, order.whole)

        async with aclosing(relay(work, self._pool)) as bundles:
            async for bundle in bundles:
                yield bundle

    async def judge(self, order: Order, ours: Sequence[int], reference: Sequence[int]) -> dict[str, Any]:
        """Where the greedy answer `ours` leaves `reference`, and whether rounding explains it, by the gate's rule."""
        def work() -> dict[str, Any]:
            from flashbench.serve.ab.judge import judge  # here: it is needed only where answers differ
            return judge(self._target, order, ours, reference)

        return await asyncio.get_running_loop().run_in_executor(self._pool, work)
