"""Many requests, so many at once, and the server's own account of them. It judges nothing."""

import asyncio
from collections.abc import Sequence

import aiohttp

from flashbench.console import Advance
from flashbench.load.client import Outcome, send
from flashbench.load.mix import Ask
from specflash.errors import UserError

Health = dict[str, dict[str, int]]
SETTLE_S = 30


class Server:
    """A running endpoint. `key`: what to show at its door."""

    def __init__(self, url: str, key: str | None):
        self.url = url
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(self.url, headers=self._headers, connector=aiohttp.TCPConnector(limit=0),
                                     timeout=aiohttp.ClientTimeout(total=None))

    async def health(self) -> Health:
        """What became of each method's requests. Raises UserError where no server of ours answers."""
        try:
            async with self.session() as session, session.get("/healthz") as response:
                return (await response.json())["methods"]
        except (aiohttp.ClientError, OSError, ValueError, LookupError, TypeError) as error:
            raise UserError(f"no SpecFLASH server answers at {self.url} ({type(error).__name__}): start one with "
                            "`specflash serve`, or leave --url out") from None

    async def settled(self) -> Health:
        """The account once nothing runs any more, or after SETTLE_S."""
        for _ in range(10 * SETTLE_S):
            health = await self.health()
            if not any(tally["running"] for tally in health.values()):
                break
            await asyncio.sleep(0.1)
        return health


async def drive(server: Server, asks: Sequence[Ask], concurrency: int, deadline_s: float,
                advance: Advance) -> list[Outcome]:
    """Every ask's outcome, in their order."""
    outcomes: list[Outcome | None] = [None] * len(asks)
    left = iter(enumerate(asks))

    async def client(session: aiohttp.ClientSession) -> None:
        for place, ask in left:
            outcomes[place] = await send(session, ask, deadline_s)
            advance()

    async with server.session() as session:
        await asyncio.gather(*(client(session) for _ in range(concurrency)))
    return [outcome for outcome in outcomes if outcome is not None]
