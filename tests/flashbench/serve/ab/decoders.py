"""Decoders that take their time from the test, and pairs with round numbers."""

import asyncio

from flashbench.serve.ab.pairs import Pair
from flashbench.serve.events import Committed, Finished, Order, Refused, Started
from specflash.metrics import Row
from specflash.records import PHASES, Sample, Turn, sample_id
from specflash.sampling import Sampling

TURNS = (Turn("Hello"),)


def order(question: str = "Hello", **sampling) -> Order:
    turns = (Turn(question),)
    return Order(Sample(sample_id((), turns), (), turns, task="chat"), Sampling(**sampling))


class Gated:
    """Each answer waits before its last token until `gate` is set; what runs and what was stopped is counted."""

    def __init__(self, ids=(5, 6, 7, 8), seconds: float = 1.0, refused: bool = False):
        self.ids, self.seconds, self.refused = tuple(ids), seconds, refused
        self.gate = asyncio.Event()
        self.running = self.begun = self.stopped = 0
        self.orders: list[Order] = []
        self.judged: list[tuple] = []

    async def decode(self, order):
        self.orders.append(order)
        self.begun += 1
        self.running += 1
        try:
            if self.refused:
                yield Refused("too long", "context_length_exceeded")
                return
            yield Started(3)
            yield Committed(self.ids[:1], "a", 0, 0)
            await self.gate.wait()
            yield Committed(self.ids[1:], "b", 4, 2)
            yield Finished("", "stop", (2,), (4,), (len(self.ids) - 1,), dict.fromkeys(PHASES, self.seconds))
        except (asyncio.CancelledError, GeneratorExit):
            self.stopped += 1
            raise
        finally:
            self.running -= 1

    async def judge(self, order, ours, reference):
        self.judged.append((order, list(ours), list(reference)))
        return {"identical": False, "first_difference": 1, "gap": 0.5, "tie": False}


def row(prompt: str, seconds: float = 1.0, kept=(2, 0), drafted=(4, 4)) -> Row:
    return Row(prompt, bytes(kept), bytes(drafted), bytes(one + 1 for one in kept), dict.fromkeys(PHASES, seconds))


def pair(number: int, seconds: float = 1.0, **other) -> Pair:
    """specflash against a vanilla that takes a second and two tokens per phase and answer."""
    prompt = f"{number:032x}"
    fields = {"first": "vanilla", "identical": True, "timed": True} | other
    return Pair("specflash", "vanilla", row(prompt, seconds), row(prompt, 1.0, (0,) * 4, (0,) * 4), **fields)
