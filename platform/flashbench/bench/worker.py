"""Who measures: one process with one engine, this one or a Ray actor. It writes no file.

Pieces are handed out one at a time; all methods of one run on the same engine, one after the other.
"""

import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import ray
import torch
from ray.exceptions import RayActorError
from ray.util import ActorPool

from flashbench.bench.measure import measure_piece, thumbnail, warm_up
from flashbench.bench.methods import load_whole_engine
from flashbench.bench.place import on_ray
from flashbench.bench.plan import Piece
from flashbench.bench.prompts import warmup_prompts
from flashbench.fingerprint import describe_machine, machine_state
from flashbench.journal import Record
from flashbench.ray_session import ray_session
from flashbench.settings import Settings
from specflash.errors import UserError
from specflash.records import in_memory

Task = tuple[Piece, Record | None]
"""What to measure, and the record of an earlier attempt at it."""


def measured(settings: Settings, tasks: Sequence[Task]) -> Iterator[Record]:
    """A record per task, in the order in which they are finished. settings: as the plan has them"""
    methods = tuple(dict.fromkeys(method for piece, _ in tasks for method in piece.methods))
    warmups = [replace(tasks[0][0], prompt=prompt, methods=methods) for prompt in warmup_prompts(settings)]
    yield from _by_actors(settings, tasks, warmups) if on_ray(settings) else _here(settings, tasks, warmups)


class Worker:
    """Holds a warm engine; one call measures one prompt with every method."""

    def __init__(self, settings: Settings, warmups: Sequence[Piece]):
        self._engine = load_whole_engine(settings)
        for piece in warmups:
            warm_up(self._engine, piece)

    def measure(self, piece: Piece, earlier: Record | None) -> Record:
        """The rows, what failed, and the state of the machine on both sides."""
        before, attempt = (earlier["rows"], earlier["attempt"] + 1) if earlier else ((), 0)
        state = machine_state()
        rows, failures = measure_piece(self._engine, piece, before, attempt)
        return {"key": piece.key, "rows": rows, "failures": failures, "attempt": attempt,
                "picture": thumbnail(piece.prompt) if piece.shown else None, "machine": describe_machine(),
                "before": state, "after": machine_state(), "device": self._engine.target.device.type,
                "at": datetime.now(UTC).isoformat(timespec="seconds")}


class Actor:
    """A worker on the accelerator that Ray gave its process.

    It is made by the first call: what is wrong then is told as it is, and not as the death of an actor.
    """

    def __init__(self, settings: Settings, warmups: Sequence[Piece]):
        self._settings, self._warmups = settings, warmups
        self._worker: Worker | None = None

    def measure(self, piece: Piece, earlier: Record | None) -> Record:
        if self._worker is None:
            self._worker = Worker(on_own_accelerator(self._settings), self._warmups)
        return self._worker.measure(piece, earlier)


def on_own_accelerator(settings: Settings) -> Settings:
    target = settings.target
    if target.device != "auto":
        return settings
    device = "cuda" if ray.get_gpu_ids() and torch.cuda.is_available() else "cpu"
    return settings.model_copy(update={"target": target.model_copy(update={"device": device})})


def _here(settings: Settings, tasks: Sequence[Task], warmups: Sequence[Piece]) -> Iterator[Record]:
    worker = Worker(settings, warmups)
    for task in tasks:
        yield worker.measure(*task)
    del worker
    gc.collect()


def _by_actors(settings: Settings, tasks: Sequence[Task], warmups: Sequence[Piece]) -> Iterator[Record]:
    bench = settings.bench
    actors = min(bench.actors, len(tasks))
    with ray_session(settings, actors * bench.cpus_per_actor, actors * bench.gpus_per_actor):
        actor = ray.remote(Actor).options(num_cpus=bench.cpus_per_actor, num_gpus=bench.gpus_per_actor)
        packed = [_with_media(piece) for piece in warmups]
        pool = ActorPool([actor.remote(settings, packed) for _ in range(actors)])
        try:
            yield from pool.map_unordered(_hand_out, tasks)
        except RayActorError as error:
            raise UserError("a process of the benchmark ended before its work did (killed, or out of memory); run the "
                            "same command again, finished prompts are kept") from error


def _hand_out(actor: Any, task: Task) -> ray.ObjectRef:
    piece, earlier = task
    return actor.measure.remote(_with_media(piece), earlier)


def _with_media(piece: Piece) -> Piece:
    """The media themselves: their files may lie where an actor does not see them."""
    request = piece.prompt.request
    request = replace(request, media=tuple(map(in_memory, request.media)))
    return replace(piece, prompt=replace(piece.prompt, request=request))
