"""Who measures: one process with one engine, this one or a Ray actor. It writes no file.

Pieces are handed out one at a time; all methods of one run on the same engine, one after the other.
"""

import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ray
import torch
from ray.exceptions import RayActorError
from ray.util import ActorPool

from flashbench.bench.measure import measure_piece, thumbnail, warm_up
from flashbench.bench.methods import load_whole_engine
from flashbench.bench.plan import Piece
from flashbench.bench.prompts import warmup_prompts
from flashbench.fingerprint import describe_machine, machine_state
from flashbench.journal import Record
from flashbench.ray_session import cluster_is_given, ray_session, threads_for
from flashbench.settings import Settings
from specflash.errors import UserError
from specflash.records import picture_bytes

Task = tuple[Piece, Record | None]
"""What to measure, and the record of an earlier attempt at it."""


def on_ray(settings: Settings) -> bool:
    """One actor without a GPU of its own on this machine alone is this process."""
    bench = settings.bench
    return bench.actors > 1 or bench.gpus_per_actor > 0 or cluster_is_given()


def as_measured(settings: Settings) -> Settings:
    """The settings under which a worker works: its threads, and paths that hold in any folder."""
    if not on_ray(settings):
        return settings
    bench, target = settings.bench, settings.target
    weights = target.weights and str(Path(target.weights).absolute())
    assistant = bench.assistant and bench.assistant.absolute()
    return settings.model_copy(update={
        "run": settings.run.absolute(), "threads": threads_for(bench.cpus_per_actor),
        "target": target.model_copy(update={"weights": weights}),
        "bench": bench.model_copy(update={"assistant": assistant})})


def measured(settings: Settings, tasks: Sequence[Task]) -> Iterator[Record]:
    """A record per task, in the order in which they are finished. settings: as from `as_measured`"""
    warmups = [replace(tasks[0][0], prompt=prompt) for prompt in warmup_prompts(settings)]
    yield from _on_ray(settings, tasks, warmups) if on_ray(settings) else _here(settings, tasks, warmups)


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


class Actor(Worker):
    """A worker on the accelerator that Ray gave its process."""

    def __init__(self, settings: Settings, warmups: Sequence[Piece]):
        target = settings.target
        if target.device == "auto":
            device = "cuda" if ray.get_gpu_ids() and torch.cuda.is_available() else "cpu"
            settings = settings.model_copy(update={"target": target.model_copy(update={"device": device})})
        super().__init__(settings, warmups)


def _here(settings: Settings, tasks: Sequence[Task], warmups: Sequence[Piece]) -> Iterator[Record]:
    worker = Worker(settings, warmups)
    for task in tasks:
        yield worker.measure(*task)
    del worker
    gc.collect()


def _on_ray(settings: Settings, tasks: Sequence[Task], warmups: Sequence[Piece]) -> Iterator[Record]:
    bench = settings.bench
    actors = min(bench.actors, len(tasks))
    with ray_session(settings, actors * bench.cpus_per_actor, actors * bench.gpus_per_actor):
        actor = ray.remote(Actor).options(num_cpus=bench.cpus_per_actor, num_gpus=bench.gpus_per_actor)
        packed = [_with_pictures(piece) for piece in warmups]
        pool = ActorPool([actor.remote(settings, packed) for _ in range(actors)])
        try:
            yield from pool.map_unordered(_hand_out, tasks)
        except RayActorError as error:
            raise UserError("a process of the benchmark ended before its work did (killed, or out of memory); run the "
                            "same command again, finished prompts are kept") from error


def _hand_out(actor: Any, task: Task) -> ray.ObjectRef:
    piece, earlier = task
    return actor.measure.remote(_with_pictures(piece), earlier)


def _with_pictures(piece: Piece) -> Piece:
    """The pictures themselves: their files may lie where an actor does not see them."""
    request = piece.prompt.request
    request = replace(request, images=tuple(picture_bytes(image) for image in request.images))
    return replace(piece, prompt=replace(piece.prompt, request=request))
