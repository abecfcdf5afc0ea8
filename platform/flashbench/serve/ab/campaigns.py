"""The campaign of a running server: begun, fed with pairs, ended, kept on disk and told to MLflow. It knows no HTTP."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from math import inf
from pathlib import Path
from typing import Any

from flashbench.serve.ab.campaign import Campaign
from flashbench.serve.ab.company import Company
from flashbench.serve.ab.ledger import Ledger, resume
from flashbench.serve.ab.pairs import Pair, baseline_first
from flashbench.serve.ab.rule import Rule
from flashbench.serve.refusal import Refusal
from specflash.errors import one_line

log = logging.getLogger("ray.serve")
Json = dict[str, Any]
Flush = Callable[[Json], Awaitable[Sequence[str]]]
"""Tells MLflow what a campaign says; returns the line that says what it did not take."""

NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


class Campaigns:
    """At most one is going on. What computes for long does so in a thread and counts as company."""

    def __init__(self, folder: Path, methods: Sequence[str], company: Company, flush: Flush):
        self._folder, self._methods, self._company, self._flush = folder, methods, company, flush
        self._one_by_one = asyncio.Lock()
        self._flushing: asyncio.Task[None] | None = None
        self._flushed_at = -inf
        self._alarm: asyncio.Task[None] | None = None
        self._settled = False
        self.untold: Sequence[str] = ()
        self.current = resume(folder, methods)
        self._ledger = Ledger(folder / self.current.name) if self.current else None

    @property
    def running(self) -> Campaign | None:
        """The one that is going on. Notices that its time is over."""
        if self.current is None:
            return None
        self.current.check_time(time.time())
        return None if self.current.ended else self.current

    async def start(self, name: str, methods: Sequence[str], rule: Rule) -> Json:
        """Raises Refusal for a name that is taken or no name, and where a campaign is going on."""
        async with self._one_by_one:
            if self.running:
                raise Refusal(409, f"the campaign `{self.running.name}` is going on; stop it first",
                              code="campaign_running")
            if not NAME.fullmatch(name):
                raise Refusal(400, "`name` takes letters, digits, `.`, `_` and `-`, at most 64, the first a letter "
                                   "or a digit", "name", "invalid_value")
            if (self._folder / name).exists():
                raise Refusal(409, f"there is a campaign `{name}` in {self._folder} already; take another name",
                              "name", "campaign_exists")
            self.current = Campaign(name, baseline_first(*methods, self._methods), rule, time.time())
            self._ledger, self.untold, self._settled = Ledger(self._folder / name), (), False
            self._flushed_at = -inf
            await asyncio.to_thread(self._ledger.write, self.current)
            self._alarm = asyncio.create_task(self._look_at_the_clock(self.current))
        return await self.told()

    async def add(self, pair: Pair, flush_s: float) -> None:
        """Durable before it counts."""
        async with self._one_by_one:
            campaign = self.running
            if campaign is None or not campaign.wants(pair):
                return
            with self._company.working():
                looked = await asyncio.to_thread(self._count, campaign, pair)
            if campaign.ended:
                await self._settle(campaign)
            elif looked and time.monotonic() - self._flushed_at >= flush_s:
                self._flush_soon(campaign)

    async def stop(self) -> Json:
        """End it, where it has not ended; returns once disk and MLflow know. Raises Refusal where there is none."""
        async with self._one_by_one:
            campaign = self._there()
            campaign.stop(time.time())
            await self._settle(campaign)
        if self._flushing is not None:
            await self._flushing
        return await self.told()

    async def told(self) -> Json:
        campaign = self._there()
        with nullcontext() if campaign.known_of(len(campaign.pairs)) else self._company.working():
            told = await asyncio.to_thread(campaign.told)
        return told | {"untold": list(self.untold)}

    def _there(self) -> Campaign:
        if self.current is None:
            raise Refusal(404, "there is no campaign; start one with PUT /ab/campaign or `specflash ab start`",
                          code="no_campaign")
        return self.current

    def _count(self, campaign: Campaign, pair: Pair) -> bool:
        self._ledger.add(len(campaign.pairs), pair)
        looked = campaign.add(pair, time.time())
        if looked:
            self._ledger.write(campaign)
        return looked

    async def _settle(self, campaign: Campaign) -> None:
        """Write down, once, how it ended."""
        if not self._settled:
            self._settled = True
            await asyncio.to_thread(self._ledger.write, campaign)
            self._flush_soon(campaign)

    async def _look_at_the_clock(self, campaign: Campaign) -> None:
        await asyncio.sleep(campaign.rule.max_seconds - (time.time() - campaign.started_at))
        async with self._one_by_one:
            campaign.check_time(time.time())
            if self.current is campaign and campaign.ended:
                await self._settle(campaign)

    def _flush_soon(self, campaign: Campaign) -> None:
        self._flushed_at = time.monotonic()
        self._flushing = asyncio.create_task(self._flush_after(self._flushing, campaign))

    async def _flush_after(self, before: "asyncio.Task[None] | None", campaign: Campaign) -> None:
        """One write at a time, so that the last one is the last."""
        if before is not None:
            with suppress(Exception):
                await before
        told = await asyncio.to_thread(campaign.told)
        with self._company.working():
            try:
                self.untold = await self._flush(told)
            except Exception as error:  # whatever a store raises, it stops no request
                self.untold = [f"MLflow: {one_line(error)}; {self._folder / campaign.name} has it all"]
        for line in self.untold:
            log.warning("%s", line)
