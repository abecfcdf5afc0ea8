"""The real routes over decoders that recite, under a real HTTP server: what the arena's tests open."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from flashbench.serve.ab.live import Live, Place
from flashbench.serve.api import build_api
from flashbench.serve.events import Committed, Finished, Started
from flashbench.serve.pictures import count_pixels
from flashbench.serve.refusal import Refusal
from flashbench.settings import ServeSettings
from specflash.records import Clip

TEXT = ("The picture shows a sunny beach with two pink sail boats on the water, a person in green who waves, "
        "and a pink cat that is asleep on the sand while the sun goes down behind them all .")
PIECES = tuple(f" {word}" if number else word for number, word in enumerate(TEXT.split()))
PATTERNS = {"vanilla": ((0, 0),), "eagle": ((4, 2), (4, 4), (4, 0), (4, 3)),
            "specflash": ((5, 4), (5, 5), (5, 1), (5, 3))}
"""Method -> (drafted, kept) of its rounds, again and again."""
PACE = 0.004  # seconds of a pass
PHASES = ("vision", "prefill", "draft_prefill", "draft", "verify", "other")


class Reciter:
    """Recites TEXT, as far as it is asked to; some questions it does not bear."""

    def __init__(self, method: str):
        self.method = method
        self.orders = []

    async def decode(self, order):
        self.orders.append(order)
        question = order.sample.turns[-1].question
        for medium in order.sample.media:
            if not isinstance(medium, Clip):
                count_pixels(medium, "messages.0.content")
        if "be busy" in question:
            raise Refusal(429, "8 requests wait already", code="queue_full")
        pieces = PIECES[: order.sampling.max_new_tokens]
        yield Started(7)
        yield Committed((0,), pieces[0], 0, 0, pieces[:1])
        done, rounds = 1, []
        while done < len(pieces):
            await asyncio.sleep(PACE * (100 if "take your time" in question else 1))
            if "break" in question and done > 5:
                raise Refusal(503, f"`{self.method}` failed to answer", code="decoder_failed")
            if "vanish" in question and done > 5:
                raise ConnectionAbortedError("the process is gone")
            pattern = PATTERNS[self.method]
            drafted, kept = pattern[len(rounds) % len(pattern)]
            cut = pieces[done : done + kept + 1]
            rounds.append((kept, drafted, len(cut)))
            done += len(cut)
            yield Committed(tuple(range(len(cut))), "".join(cut), drafted, kept, cut)
        kept, drafted, committed = zip(*rounds, strict=True) if rounds else ((), (), ())
        yield Finished("", "length", kept, drafted, committed,
                       dict.fromkeys(PHASES, 0.0) | {"prefill": 0.1, "verify": PACE * len(rounds)})


@contextmanager
def served() -> Iterator[tuple[str, dict[str, Reciter]]]:
    """The address, and the decoders behind it."""
    reciters = {method: Reciter(method) for method in PATTERNS}
    limits = ServeSettings(max_body_mb=8)
    live = Live(reciters, limits.ab, Place(Path("nowhere"), flush=None))
    server = uvicorn.Server(uvicorn.Config(build_api(reciters, limits, "reciter", live), port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", reciters
    finally:
        server.should_exit = True
        thread.join()
