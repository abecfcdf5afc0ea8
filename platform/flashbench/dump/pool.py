"""Readers and actors that hold the target, over pieces of work, with Ray Data.

    pieces of (index, id) -> Reader -> worker -> rows about samples
                             (CPUs)    (the target)

Only rows about samples travel to the driver. It knows no store and not what a worker does.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext

from flashbench.console import progress
from flashbench.dump.read import Reader
from flashbench.ray_session import ray_session
from flashbench.settings import Settings

HUSHED = {"ray.data._internal.progress": logging.ERROR,                      # "progress bars disabled"
          "ray.data._internal.execution.streaming_executor": logging.WARNING,  # "execution finished"
          # "may hang forever" where one worker waits for another's CPU; `ray_session` says what is short.
          "ray.data._internal.execution.resource_manager": logging.ERROR}


def run_pool(settings: Settings, pieces: Sequence[Sequence[str]], indices: Mapping[str, int],
             worker: type, title: str) -> Iterator[dict]:
    """What the workers say of the samples of all pieces, one row after another in any order.

    pieces   ids that one call of a worker does together
    indices  place of each sample in the source `dump.source`
    worker   made with the settings; takes a table of PIECE_SCHEMA and gives rows
    """
    dump = settings.dump
    with (ray_session(settings, num_cpus=dump.actors * dump.cpus_per_actor + dump.decoders,
                      num_gpus=dump.actors * dump.gpus_per_actor), _quiet_ray_data(),
          progress(title, sum(map(len, pieces))) as advance,
          closing(iter(_rows(settings, pieces, indices, worker).iter_rows())) as rows):
        for row in rows:
            yield row
            advance()


def _rows(settings: Settings, pieces: Sequence[Sequence[str]], indices: Mapping[str, int],
          worker: type) -> ray.data.Dataset:
    """One block holds one piece, so that pieces are spread over the workers one by one."""
    dump = settings.dump
    blocks = [pa.Table.from_pylist([{"samples": [{"index": indices[sample], "id": sample} for sample in piece]}])
              for piece in pieces]
    return ray.data.from_arrow(blocks).map_batches(
        Reader, fn_constructor_kwargs={"dump": dump}, batch_format="pyarrow", batch_size=1,
        compute=ActorPoolStrategy(size=dump.decoders), num_cpus=1,
    ).map_batches(
        worker, fn_constructor_kwargs={"settings": settings}, batch_format="pyarrow", batch_size=1,
        compute=ActorPoolStrategy(size=dump.actors), num_cpus=dump.cpus_per_actor, num_gpus=dump.gpus_per_actor)


@contextmanager
def _quiet_ray_data() -> Iterator[None]:
    """Our own bar shows the progress; Ray's warnings are still heard.

    Ray Data's usage report is off: its thread outlives the session and asks a Prometheus that is
    not there.
    """
    os.environ.setdefault("RAY_DATA_USAGE_DISABLED", "1")
    context, loggers = DataContext.get_current(), {logging.getLogger(name): level for name, level in HUSHED.items()}
    before = context.enable_progress_bars, context.print_on_execution_start
    levels = {logger: logger.level for logger in loggers}
    context.enable_progress_bars, context.print_on_execution_start = False, False
    for logger, level in loggers.items():
        logger.setLevel(level)
    try:
        yield
    finally:
        context.enable_progress_bars, context.print_on_execution_start = before
        for logger, level in levels.items():
            logger.setLevel(level)
