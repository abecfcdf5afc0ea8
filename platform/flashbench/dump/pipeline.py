"""The dump: features of a frozen target for every sample of a source, with Ray Data.

    samples -> identify -> ids | anti-join with the store | unfinished -> Reader -> Extractor -> shards
               (threads)         (driver)                                 (CPUs)    (the target)

Only rows about samples travel to the driver. It knows no target family and no data set.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext

from flashbench.console import clock, note, progress
from flashbench.dump.extract import Extractor
from flashbench.dump.manifest import Manifest
from flashbench.dump.plan import make_plan, source_name
from flashbench.dump.quarantine import Quarantined, check_budget, write_quarantine
from flashbench.dump.read import Reader, open_source
from flashbench.dump.rows import FULL, STORED
from flashbench.dump.source import write_source
from flashbench.lock import sole_writer
from flashbench.ray_session import ray_session
from flashbench.settings import Settings
from specflash.errors import UserError
from specflash.files import DiskFull
from specflash.targets import load_ends, target_fingerprint

HUSHED = {"ray.data._internal.progress": logging.ERROR,                      # "progress bars disabled"
          "ray.data._internal.execution.streaming_executor": logging.WARNING}  # "execution finished"


@dataclass
class DumpSummary:
    """What became of every sample of the source: total is the sum of the four counts.

    written      extracted in this run
    skipped      finished before
    duplicates   same media and text as another sample of the source
    quarantined  left out, with a reason in quarantine.jsonl
    """

    total: int
    written: int = 0
    skipped: int = 0
    duplicates: int = 0
    quarantined: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (f"{self.total} samples: {self.written} written, {self.skipped} finished before, "
                f"{self.duplicates} repeated, {self.quarantined} in quarantine · {clock(self.seconds)}")


def run_dump(settings: Settings) -> DumpSummary:
    """Extract what is not in the store yet. Running it again continues.

    Raises UserError for an unusable source, for a store made with other settings, when the disk
    is full, and when too many samples are bad; finished samples are kept in every case.
    """
    settings = _with_absolute_paths(settings)
    folder, started = settings.dump_folder, time.monotonic()
    dataset = open_source(settings.dump)
    if len(dataset) == 0:
        raise UserError(f"{source_name(settings)} holds no samples: choose another `dump.source`")
    _manifest(settings).claim(folder)
    with sole_writer(folder, "dump"):
        plan = make_plan(settings, dataset)
        write_source(folder, settings.dump.source, plan.ids)
        written, bad = _extract(settings, plan.todo) if plan.todo else (0, [])
        bad += plan.bad
        write_quarantine(folder, source_name(settings), bad)
    check_budget(bad, len(dataset), settings.dump.error_budget, folder)
    summary = DumpSummary(total=len(dataset), written=written, skipped=plan.skipped, quarantined=len(bad),
                          duplicates=plan.duplicates, seconds=time.monotonic() - started)
    assert summary.total == written + plan.skipped + plan.duplicates + len(bad), summary
    note(f"{summary} in {folder}")
    return summary


def _manifest(settings: Settings) -> Manifest:
    """What this target's features are, without loading the target."""
    target = settings.target
    ends = load_ends(target.name, target.weights, target.dtype)
    return Manifest(target=target.name, fingerprint=target_fingerprint(target.name, target.weights),
                    dtype=target.dtype, max_length=settings.dump.max_length, answers=settings.dump.answers,
                    max_new_tokens=settings.dump.max_new_tokens if settings.dump.answers == "target" else None,
                    width=ends.embedding.shape[1])


def _extract(settings: Settings, todo: dict[str, int]) -> tuple[int, list[Quarantined]]:
    """Run the unfinished samples through readers and actors; returns how many were stored."""
    dump, stored, bad = settings.dump, 0, []
    title = f"dump {dump.source.dataset}"
    with (ray_session(settings, num_cpus=dump.actors * dump.cpus_per_actor + dump.decoders,
                      num_gpus=dump.actors * dump.gpus_per_actor), _quiet_ray_data(),
          progress(title, len(todo)) as advance,
          closing(iter(_outcomes(settings, todo).iter_rows())) as outcomes):
        for row in outcomes:
            if row["outcome"] == FULL:
                raise DiskFull(row["reason"])
            if row["outcome"] == STORED:
                stored += 1
            else:
                bad.append(Quarantined(source_name(settings), row["index"], row["id"], row["reason"]))
            advance()
    return stored, bad


def _outcomes(settings: Settings, todo: dict[str, int]) -> ray.data.Dataset:
    """What becomes of each sample (OUTCOME_SCHEMA), in any order.

    One block holds one call's samples, so that a call of an actor gets exactly `dump.batch`.
    """
    dump = settings.dump
    rows = [{"index": index, "id": sample} for sample, index in todo.items()]
    blocks = [pa.Table.from_pylist(rows[start:start + dump.batch]) for start in range(0, len(rows), dump.batch)]
    return ray.data.from_arrow(blocks).map_batches(
        Reader, fn_constructor_kwargs={"dump": dump}, batch_format="pyarrow", batch_size=dump.batch,
        compute=ActorPoolStrategy(size=dump.decoders), num_cpus=1,
    ).map_batches(
        Extractor, fn_constructor_kwargs={"settings": settings}, batch_format="pyarrow",
        batch_size=dump.batch, compute=ActorPoolStrategy(size=dump.actors),
        num_cpus=dump.cpus_per_actor, num_gpus=dump.gpus_per_actor)


def _with_absolute_paths(settings: Settings) -> Settings:
    """Workers may run in another folder than the driver."""
    source, target = settings.dump.source, settings.target
    if source.path is not None:
        source = source.model_copy(update={"path": source.path.absolute()})
    if target.weights is not None:
        target = target.model_copy(update={"weights": str(Path(target.weights).absolute())})
    return settings.model_copy(update={"run": settings.run.absolute(), "target": target,
                                       "dump": settings.dump.model_copy(update={"source": source})})


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
