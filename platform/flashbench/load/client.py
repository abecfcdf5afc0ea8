"""One request, sent as a client would, and what became of it. It judges nothing."""

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Literal

import aiohttp

from flashbench.load.mix import Ask

End = Literal["answered", "refused", "left", "lost", "hung"]
"""lost: the connection broke, the stream had an error or no end. hung: nothing within the deadline."""


@dataclass(frozen=True)
class Outcome:
    """seconds   until the end. first_s: until the first text of a stream."""

    ask: Ask
    end: End
    seconds: float
    status: int | None = None
    code: str | None = None
    text: str = ""
    first_s: float | None = None
    reason: str = ""


async def send(session: aiohttp.ClientSession, ask: Ask, deadline_s: float) -> Outcome:
    """Never raises for what a server does."""
    begun = time.monotonic()
    reading = _Reading(session, ask, begun)
    try:
        async with asyncio.timeout(deadline_s):
            end, reason = await reading.run(), ""
    except TimeoutError:
        end, reason = "hung", f"nothing within {deadline_s:g} s"
    except (aiohttp.ClientError, OSError, ValueError, LookupError) as error:
        end, reason = "lost", f"{type(error).__name__}: {error}"
    return Outcome(ask, end, time.monotonic() - begun, reading.status, reading.code, "".join(reading.texts),
                   reading.first_s, reason or reading.reason)


class _Reading:
    """What has been read of an answer so far."""

    def __init__(self, session: aiohttp.ClientSession, ask: Ask, begun: float):
        self._session, self._ask, self._begun = session, ask, begun
        self.status: int | None = None
        self.code: str | None = None
        self.texts: list[str] = []
        self.first_s: float | None = None
        self.reason = ""

    async def run(self) -> End:
        posting = self._session.post("/v1/chat/completions", data=self._ask.body,
                                     headers={"Content-Type": "application/json"})
        if self._ask.leave_after == 0:
            return await self._leave_at_once(asyncio.ensure_future(posting))
        async with posting as response:
            self.status = response.status
            if response.status != 200:
                self.code = (await response.json())["error"]["code"]
                return "refused"
            if self._ask.stream:
                return await self._stream(response)
            self._take((await response.json())["choices"][0]["message"])
            return "answered"

    async def _leave_at_once(self, posting: "asyncio.Future[aiohttp.ClientResponse]") -> End:
        await asyncio.wait([posting], timeout=0.05)
        if not posting.cancel():
            posting.result().close()
        await asyncio.gather(posting, return_exceptions=True)
        return "left"

    async def _stream(self, response: aiohttp.ClientResponse) -> End:
        async for line in response.content:
            event = line.decode().strip().removeprefix("data: ")
            if event == "[DONE]":
                return "answered"
            if event and not self._taken(json.loads(event)):
                return "lost"
            if self._ask.leave_after is not None and len(self.texts) >= self._ask.leave_after:
                response.close()
                return "left"
        self.reason = "the stream has no end"
        return "lost"

    def _taken(self, chunk: dict) -> bool:
        if "error" in chunk:
            self.code, self.reason = chunk["error"]["code"], chunk["error"]["message"]
            return False
        for choice in chunk["choices"]:
            self._take(choice["delta"])
        return True

    def _take(self, message: dict) -> None:
        if message.get("content"):
            self.texts.append(message["content"])
            self.first_s = self.first_s or time.monotonic() - self._begun
