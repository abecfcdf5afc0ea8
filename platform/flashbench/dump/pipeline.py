"""The dump: features of a frozen target for every sample of a source, with Ray Data.

    indices -> identify -> ids | anti-join with the store | unfinished -> Reader -> Extractor -> shards
    (CPU tasks)                  (driver)                    (CPU actors)  (actors)

Only rows about samples travel to the driver. It knows no target family and no data set.
"""

import fcntl
import logging
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ray.data import ActorPoolStrategy, DataContext

from flashbench.console import clock, note, progress
from flashbench.dump.extract import Extractor
from flashbench.dump.files import DiskFull
from flashbench.dump.manifest import Manifest
from flashbench.dump.plan import in_chunks, make_plan, source_name
from flashbench.dump.quarantine import Quarantined, check_budget, write_quarantine
from flashbench.dump.read import Reader, open_source
from flashbench.dump.rows import FULL, STORED
from flashbench.ray_session import ray_session
from flashbench.settings import Settings
from specflash.errors import UserError
from specflash.targets import load_ends, target_fingerprint


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
    dump, folder, started = settings.dump, settings.dump_folder, time.monotonic()
    total = len(open_source(dump.source))
    if total == 0:
        raise UserError(f"{source_name(settings)} holds no samples: choose another `dump.source`")
    cpus = dump.actors * dump.cpus_per_actor + dump.decoders
    _manifest(settings).claim(folder)
    with _sole_writer(folder), ray_session(settings, num_cpus=cpus), _quiet_ray_data():
        plan = make_plan(settings, total)
        written, bad = _extract(settings, plan.todo)
        bad += plan.bad
        write_quarantine(folder, source_name(settings), bad)
    check_budget(bad, total, dump.error_budget, folder)
    summary = DumpSummary(total=total, written=written, skipped=plan.skipped, quarantined=len(bad),
                          duplicates=plan.duplicates, seconds=time.monotonic() - started)
    assert total == written + plan.skipped + plan.duplicates + len(bad), summary
    note(f"{summary} in {folder}")
    return summary


def _manifest(settings: Settings) -> Manifest:
    """What this target's features are, without loading the target."""
    target = settings.target
    ends = load_ends(target.name, target.weights, target.dtype)
    return Manifest(target=target.name, fingerprint=target_fingerprint(target.name, target.weights),
                    dtype=target.dtype, max_length=settings.dump.max_length,
                    width=ends.embedding.shape[1])


def _extract(settings: Settings, todo: dict[str, int]) -> tuple[int, list[Quarantined]]:
    """Run the unfinished samples through readers and actors; returns how many were stored."""
    if not todo:
        return 0, []
    dump, source = settings.dump, settings.dump.source
    rows = [{"index": index, "id": sample} for sample, index in todo.items()]
    outcomes = in_chunks(rows, dump.batch).map_batches(
        Reader, fn_constructor_kwargs={"source": source}, batch_format="pyarrow", batch_size=dump.batch,
        compute=ActorPoolStrategy(size=dump.decoders), num_cpus=1,
    ).map_batches(
        Extractor, fn_constructor_kwargs={"settings": settings}, batch_format="pyarrow",
        batch_size=dump.batch, compute=ActorPoolStrategy(size=dump.actors),
        num_cpus=dump.cpus_per_actor, num_gpus=dump.gpus_per_actor)
    stored, bad = 0, []
    with progress(f"dump {source.dataset}", len(rows)) as advance, closing(iter(outcomes.iter_rows())) as ended:
        for row in ended:
            if row["outcome"] == FULL:
                raise DiskFull(row["reason"])
            if row["outcome"] == STORED:
                stored += 1
            else:
                bad.append(Quarantined(source_name(settings), row["index"], row["id"], row["reason"]))
            advance()
    return stored, bad


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
    """Our own bar shows the progress; Ray's warnings are still heard."""
    context, quiet = DataContext.get_current(), logging.getLogger("ray.data._internal.progress")
    before = context.enable_progress_bars, context.print_on_execution_start, quiet.level
    context.enable_progress_bars, context.print_on_execution_start = False, False
    quiet.setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.enable_progress_bars, context.print_on_execution_start, level = before
        quiet.setLevel(level)


@contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    """Only one dump at a time works on a store. The lock goes with the process, however it ends."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another dump is writing to {folder}: wait until it has ended") from None
        yield
