"""The plan of a dump: what it will take and whether the disk has room, told before anything runs.

It knows neither how samples are probed nor how the figures come about (dump/probe.py, dump/estimate.py).
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import disk_usage

from flashbench.console import clock, note, say, step, table
from flashbench.dump.estimate import Estimate, Probe, estimate, work_of
from flashbench.dump.plan import source_name
from flashbench.dump.probe import probe, probe_shapes, spread
from flashbench.dump.read import open_source
from flashbench.dump.source import FILE as SOURCE
from flashbench.dump.source import read_source
from flashbench.journal import write_json
from flashbench.ray_session import use_threads
from flashbench.settings import Settings
from specflash.errors import UserError
from specflash.targets import load_encoder, load_ends, load_target, weights_bytes

MIB, GIB = 2**20, 2**30
FILE = "plan.json"


@dataclass(frozen=True)
class Disk:
    """Bytes.

    needed   by the samples that are not in the store yet
    free     where the store is or will be
    reserve  that the dump leaves free
    """

    needed: int
    free: int
    reserve: int

    @property
    def fits(self) -> bool:
        return self.needed + self.reserve <= self.free


def run_plan(settings: Settings, samples: int = 8, timed: bool = True) -> bool:
    """Whether the dump of the settings fits on the disk; prints the plan and writes plan.json into the run folder.

    samples  how many of the source are looked at
    timed    also load the target and run them; else only its processor is needed

    Raises UserError for an unusable source or target, and where no sample looked at can be dumped.
    """
    dataset = open_source(settings.dump)
    if len(dataset) == 0:
        raise UserError(f"{source_name(settings)} holds no samples: choose another `dump.source`")
    found = _probe(settings, list(spread(dataset, samples)), timed)
    target, work = settings.target, work_of(dataset, settings.dump.batch)
    told = estimate(work, found, settings.dump, load_ends(target.name, target.weights).embedding.shape[1])
    finished = min(_finished(settings), told.samples)
    left = 1 - finished / told.samples
    disk = Disk(needed=round(told.bytes * left), free=disk_usage(_nearest(settings.dump_folder)).free,
                reserve=settings.dump.reserve_mb * MIB)
    weights = weights_bytes(target.name, target.weights, target.dtype)
    write_json(settings.run / FILE, {
        "source": source_name(settings), **asdict(told), "finished": finished, "probed": len(found.shapes),
        "probed_bad": found.bad, "weights_bytes": weights, "worker_memory": found.memory,
        "workers": settings.dump.actors, "disk": {**asdict(disk), "fits": disk.fits}})
    _show(settings, told, found, finished, weights)
    return _verdict(settings, disk)


def _probe(settings: Settings, samples: list, timed: bool) -> Probe:
    target, dump = settings.target, settings.dump
    if not timed:
        return probe_shapes(load_encoder(target.name, target.weights), samples, dump)
    use_threads(dump.cpus_per_actor)
    with step(f"load {target.name}"):
        device = target.device if target.device != "auto" or dump.gpus_per_actor else "cpu"
        loaded = load_target(target.name, target.weights, target.dtype, device)
    return probe(loaded, samples, dump)


def _finished(settings: Settings) -> int:
    """Samples of this source that a dump before has finished, as far as is known without reading the data."""
    if not (settings.dump_folder / SOURCE).is_file():
        return 0
    dumped = read_source(settings.dump_folder)
    try:
        dumped.check_source(settings.dump.source)
    except UserError:
        return 0
    return len(dumped.store())


def _nearest(folder: Path) -> Path:
    """The folder itself, or what is there of the way to it."""
    return next(place for place in (folder.absolute(), *folder.absolute().parents) if place.is_dir())


def _show(settings: Settings, told: Estimate, found: Probe, finished: int, weights: int) -> None:
    each, dump = found.shapes, settings.dump
    lengths = f"{min(shape.tokens for shape in each)} to {max(shape.tokens for shape in each)}"
    memory = f"{_size(found.memory)} (the probe's peak)" if found.memory else f"more than {_size(weights)} (weights)"
    rows = [
        ("samples", f"{told.samples}, of {told.pictures} pictures" + (f"; {finished} finished" if finished else "")),
        ("probe", f"{len(each)} samples" + (f", and {found.bad} that cannot be dumped" if found.bad else "")),
        ("tokens per sample", f"{told.tokens:.0f} ({lengths}), {told.prefix_tokens:.0f} of them visual prefix"),
        ("bytes per sample", f"{_size(told.sample_bytes)}; no prefix shared {_size(told.sample_bytes_unshared)}; "
                             f"FlashSD's layout {_size(told.sample_bytes_flashsd)}"),
        ("bytes in all", f"{_size(told.bytes)} in {told.shards} shards"),
        ("time", "not timed" if told.seconds is None else
         f"{clock(told.seconds)} with {dump.actors} workers, without their start"),
        ("memory per worker", memory)]
    table(f"plan of the dump of {source_name(settings)}", ("", ""), rows)


def _verdict(settings: Settings, disk: Disk) -> bool:
    account = (f"{_size(disk.needed)} to write, {_size(disk.reserve)} to stay free (dump.reserve_mb), "
               f"{_size(disk.free)} free at {_nearest(settings.dump_folder)}")
    if disk.fits:
        say(f"fits: {account}")
    else:
        note(f"does not fit: {account}: free some space, set `run` to a larger disk, or lower dump.source.limit")
    return disk.fits


def _size(size: float) -> str:
    return f"{size / GIB:.2f} GiB" if size >= GIB else f"{size / MIB:.2f} MiB"
