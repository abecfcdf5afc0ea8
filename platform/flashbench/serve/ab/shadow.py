"""Decoding an answered order a second time, by another method, so that no client notices.

What makes a pair fair. Two methods that share processors slow each other down, and by unlike amounts: a draft's
many small operations suffer more than vanilla's few large ones. So a shadow runs *after* the client's answer, when
nothing else is at work, and the seconds of a pair are compared only if both of its answers were alone from their
first to their last token; pairs whose client had company still count for A, acceptance and token identity. Where
every method has processors or a GPU of its own (`start: beside`) they may run at once, and all pairs are timed.

Who runs first? The client's method, always: to alternate would mean to let a client wait for a shadow. The order
matters little, as replicas share neither cache nor weights, but that is not taken for granted: what the shadow's
method answers itself is shadowed by another one, so both orders occur, and the statistics tell R for each.

What it costs the clients. A request that comes while a shadow runs ends it, within one round of decoding; it is not
tried again. So busy hours yield few pairs, and more of short answers than of long ones: of the requests that were
offered, how many became pairs and what became of the others is counted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from flashbench.ab_settings import ShadowSettings
from flashbench.serve.ab.company import Company
from flashbench.serve.ab.pairs import Answer
from flashbench.serve.events import Decoder, Order
from flashbench.serve.refusal import Refusal

log = logging.getLogger("ray.serve")
OUTCOMES = ("paired", "busy", "late", "gave_way", "failed", "unanswered")


@dataclass(eq=False)
class Shadow:
    """One second decoding. `primary` is the client's answer, cancelled where that has no end."""

    order: Order
    method: str
    primary: "asyncio.Future[Answer]"
    settings: ShadowSettings
    running: bool = False
    gave_way: bool = False
    task: "asyncio.Task[None] | None" = field(default=None)


class Shadows:
    """Bounded in number, never in the way.

    report  takes the client's answer and the shadow's, and whether their seconds compare
    """

    def __init__(self, decoders: Mapping[str, Decoder], company: Company,
                 report: Callable[[Answer, Answer, bool], Awaitable[None]]):
        self._decoders, self._company, self._report = decoders, company, report
        self._active: set[Shadow] = set()
        self._turn = asyncio.Lock()
        self.outcomes = dict.fromkeys(OUTCOMES, 0)

    def offer(self, order: Order, method: str, settings: ShadowSettings) -> "asyncio.Future[Answer] | None":
        """Have `method` decode the order too; returns where to put the client's answer. None: dropped, too many."""
        if len(self._active) >= settings.most:
            self.outcomes["busy"] += 1
            return None
        shadow = Shadow(order, method, asyncio.get_running_loop().create_future(), settings)
        self._active.add(shadow)
        shadow.task = asyncio.create_task(self._follow(shadow))
        return shadow.primary

    def give_way(self, method: str) -> None:
        """A client's request for `method` is here: end the shadows in its way. They stop within one round."""
        for shadow in self._active:
            in_the_way = shadow.settings.start == "after" or shadow.method == method
            if shadow.running and in_the_way and not shadow.gave_way:
                shadow.gave_way = True
                shadow.task.cancel()

    async def _follow(self, shadow: Shadow) -> None:
        try:
            outcome = await (self._after(shadow) if shadow.settings.start == "after" else self._beside(shadow))
        except asyncio.CancelledError:
            outcome = "gave_way" if shadow.gave_way else "unanswered"
        except TimeoutError:
            outcome = "late"
        except Exception as error:  # a shadow's failure is nobody's but its own
            log.warning("a shadow of %s failed: %s", shadow.method, error)
            outcome = "failed"
        self.outcomes[outcome] += 1
        self._active.discard(shadow)

    async def _after(self, shadow: Shadow) -> str:
        primary = await shadow.primary
        async with asyncio.timeout(shadow.settings.deadline_s):
            async with self._turn:
                await self._company.quiet()
                answer = await self._decode(shadow)
        await self._report(primary, answer, primary.alone and answer.alone)
        return "paired"

    async def _beside(self, shadow: Shadow) -> str:
        decoding = asyncio.ensure_future(self._decode(shadow))
        try:
            primary = await shadow.primary
            async with asyncio.timeout(shadow.settings.deadline_s):
                answer = await decoding
        finally:
            decoding.cancel()
            await asyncio.gather(decoding, return_exceptions=True)
        await self._report(primary, answer, True)
        return "paired"

    async def _decode(self, shadow: Shadow) -> Answer:
        answer = Answer(shadow.method, shadow.order)
        shadow.running = True
        try:
            with self._company.working() as work:
                async with aclosing(self._decoders[shadow.method].decode(shadow.order)) as events:
                    async for event in events:
                        answer.take(event)
        finally:
            shadow.running = False
        if answer.account is None:
            raise Refusal(400, "it refused what another method has answered")
        answer.alone = work.alone
        return answer
