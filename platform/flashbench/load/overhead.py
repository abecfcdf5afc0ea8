"""What serving costs: the same greedy request by HTTP and in this process, in turn, on the same machine."""

import asyncio
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from flashbench.drafts import ready_draft
from flashbench.load.client import Outcome, send
from flashbench.load.drive import Server
from flashbench.load.mix import Ask, timed
from flashbench.ray_session import use_threads
from flashbench.serve.chat import read_order
from flashbench.serve.decode import answer
from flashbench.serve.events import Committed
from flashbench.serve.schema import parse_request
from flashbench.settings import Settings
from specflash.errors import UserError
from specflash.targets import load_target

TOKENS = 64
DEADLINE_S = 300
WARM_UPS = 2

Timed = tuple[float, float]
"""Seconds of a request: until its first text, and until its end."""


def measure_overhead(settings: Settings, server: Server, method: str, repeats: int) -> dict[str, Any]:
    """Medians in seconds, and their ratio and difference.

    The clients of a loaded server wait for one another; here one asks at a time, so that what is told is
    the way through HTTP, the ingress and Ray alone.
    """
    alone = _in_process(settings, method)
    rounds = [(alone(), _by_http(server, timed(method, TOKENS, stream=False)),
               _by_http(server, timed(method, TOKENS, stream=True))) for _ in range(WARM_UPS + repeats)][WARM_UPS:]
    inside, whole, streamed = zip(*rounds, strict=True)
    whole_inside, whole_http = median(end for _, end in inside), median(end for _, end in whole)
    first_inside, first_http = median(first for first, _ in inside), median(first for first, _ in streamed)
    return {"method": method, "tokens": TOKENS, "repeats": repeats,
            "in_process_s": whole_inside, "http_s": whole_http, "http_over_in_process": whole_http / whole_inside,
            "first_text_in_process_s": first_inside, "first_text_of_a_stream_s": first_http,
            "first_text_delay_s": first_http - first_inside}


def _in_process(settings: Settings, method: str) -> Callable[[], Timed]:
    """The replica's own work, from the parsed request on, with its number of threads."""
    use_threads(settings.serve.threads)
    target = load_target(settings.target.name, settings.target.weights, settings.serve.dtype, settings.target.device)
    draft = ready_draft(settings, method, target)
    order = read_order(parse_request(timed(method, TOKENS, stream=False).body), settings.serve)

    def ask() -> Timed:
        begun, first = time.monotonic(), None
        for event in answer(target, draft, order, settings.serve.max_prompt_tokens):
            if first is None and isinstance(event, Committed) and event.text:
                first = time.monotonic() - begun
        whole = time.monotonic() - begun
        return first or whole, whole

    return ask


def _by_http(server: Server, ask: Ask) -> Timed:
    outcome = asyncio.run(_send(server, ask))
    if outcome.end != "answered":
        raise UserError(f"the server does not answer the request that is to be timed: {outcome.end} "
                        f"{outcome.status or ''} {outcome.code or ''} {outcome.reason}")
    return outcome.first_s or outcome.seconds, outcome.seconds


async def _send(server: Server, ask: Ask) -> Outcome:
    async with server.session() as session:
        return await send(session, ask, DEADLINE_S)
