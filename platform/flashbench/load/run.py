"""`specflash load`: send the mixture, judge it, measure the overhead, tell and write both. It knows no law by name."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from flashbench.console import coloured, note, progress, say, step, table
from flashbench.fingerprint import describe_machine
from flashbench.journal import write_json
from flashbench.load.client import Outcome
from flashbench.load.drive import Server, drive
from flashbench.load.laws import SHOWN, Broken, broken_laws
from flashbench.load.memory import Samples, growth, sampled
from flashbench.load.mix import mixture, references
from flashbench.load.overhead import measure_overhead
from flashbench.load.times import times
from flashbench.serve.api_key import read_key
from flashbench.serve.run import serving
from flashbench.settings import Settings
from specflash.errors import UserError

BASELINE = "vanilla"
RESULT = "load.json"


def run_load(settings: Settings, url: str | None = None) -> bool:
    """Whether every law held. Writes `load.json` into the run folder.

    url  of a server with these settings; None: one is started, and ended afterwards

    Raises UserError where no server answers, and where vanilla, with which answers are compared, is not served.
    """
    if BASELINE not in settings.serve.methods:
        raise UserError(f"greedy answers are compared with those of `{BASELINE}`: add it to serve.methods")
    with ExitStack() as stack:
        server = Server(url or stack.enter_context(serving(settings)), read_key(settings.serve.api_key_env))
        result, broken = _under_load(settings, server)
        path = settings.run / RESULT
        write_json(path, result)  # so that it is not lost with the rest
        if settings.load.repeats:
            with step("the same request by HTTP and in process"):
                result["overhead"] = measure_overhead(settings, server, settings.serve.methods[-1],
                                                      settings.load.repeats)
    _tell(result, broken)
    write_json(path, result)
    note(f"written to {path}")
    return not any(broken.values())


def _under_load(settings: Settings, server: Server) -> tuple[dict[str, Any], Broken]:
    load = settings.load
    asks = mixture(settings.serve.methods, load.requests, load.seed)
    before = asyncio.run(server.health())
    reference_asks = references(asks, BASELINE)
    with progress(f"{BASELINE}'s own answers", len(reference_asks)) as advance:
        vanilla = asyncio.run(drive(server, reference_asks, 2, load.deadline_s, advance))
    begun = time.monotonic()
    with sampled(server.url) as samples, progress("requests", len(asks)) as advance:
        outcomes = asyncio.run(drive(server, asks, load.concurrency, load.deadline_s, advance))
    seconds = time.monotonic() - begun
    broken = broken_laws(outcomes, vanilla, before, asyncio.run(server.settled()), samples)
    return _result(settings, server, outcomes, seconds, samples, broken), broken


def _result(settings: Settings, server: Server, outcomes: Sequence[Outcome], seconds: float, samples: Samples,
            broken: Broken) -> dict[str, Any]:
    return {"url": server.url, "target": settings.target.name, "layout": settings.serve.layout,
            "load": settings.load.model_dump(mode="json"), "machine": describe_machine(), "seconds": seconds,
            "ends": {kind: dict(Counter(one.end for one in outcomes if one.ask.kind == kind))
                     for kind in dict.fromkeys(one.ask.kind for one in outcomes)},
            "methods": {method: times([one for one in outcomes if one.ask.method == method])
                        for method in settings.serve.methods},
            "memory": {process: {"first_mb": held[0] / 1e6, "last_mb": held[-1] / 1e6, "highest_mb": max(held) / 1e6,
                                 "growth": growth(held)} for process, held in samples.items()},
            "laws": {law: {"holds": not offences, "offences": offences} for law, offences in broken.items()}}


def _tell(result: dict[str, Any], broken: Broken) -> None:
    load, seconds = result["load"], result["seconds"]
    title = f"{load['requests']} requests, {load['concurrency']} at once, in {seconds:.0f} s"
    table(title, ("method", "requests", "answered", "p50", "p95", "first text of a stream, p50"),
          [(method, took["requests"], took["answered"], *(_seconds(took[key]) for key in (
              "p50_s", "p95_s", "first_text_p50_s"))) for method, took in result["methods"].items()])
    table("requests by kind", ("kind", "ended"), [
        (kind, ", ".join(f"{count} {end}" for end, count in sorted(ends.items())))
        for kind, ends in result["ends"].items()])
    if result["memory"]:
        table("memory of the server's processes", ("process", "first", "highest", "last", "growth"), [
            (process, *(f"{held[key]:.0f} MB" for key in ("first_mb", "highest_mb", "last_mb")),
             "–" if held["growth"] is None else f"×{held['growth']:.3f}")
            for process, held in result["memory"].items()])
    else:
        note("the server's processes cannot be seen from here: their memory was not measured")
    table("laws", ("law", "", "offences"), [
        (law, coloured("broken", "red") if offences else coloured("holds", "green"),
         "; ".join(offences[:SHOWN]) + (f"; and {len(offences) - SHOWN} more" if len(offences) > SHOWN else ""))
        for law, offences in broken.items()])
    if "overhead" in result:
        _tell_overhead(result["overhead"])


def _tell_overhead(overhead: dict[str, Any]) -> None:
    say(f"{overhead['method']}, {overhead['tokens']} tokens, medians of {overhead['repeats']}: "
        f"{overhead['http_s']:.3f} s by HTTP, {overhead['in_process_s']:.3f} s in process "
        f"(×{overhead['http_over_in_process']:.3f}); first text of a stream after "
        f"{overhead['first_text_of_a_stream_s']:.3f} s, in process {overhead['first_text_in_process_s']:.3f} s")


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} s"
