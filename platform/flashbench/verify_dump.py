"""Checking a dump: the bytes of every sample, and a few samples against the target itself. It writes nothing."""

from dataclasses import replace

import torch

from flashbench.console import note, progress, say, step
from flashbench.dump.read import open_source
from flashbench.dump.source import read_source
from flashbench.dump.store import FeatureStore
from flashbench.ray_session import use_threads
from flashbench.settings import Settings
from specflash.data import Dataset
from specflash.errors import UserError
from specflash.prefix import FeaturePasses
from specflash.records import Features, Sample, Turn, parted
from specflash.targets import load_target

FAR = 0.05
"""Difference of stored and computed features, relative to their size: other kernels, another number of threads and
bfloat16 stay well below, other weights or another picture are around 1."""
NAMED = 3


def run_verify_dump(settings: Settings, recompute: int = 1) -> bool:
    """Whether the store of the settings holds what was written, and what the target gives.

    recompute  how many samples run through the target again

    Raises UserError where there is no such store, and where it was dumped from another source.
    """
    dumped = read_source(settings.dump_folder)
    store = dumped.store()
    with progress("check the bytes", len(store)) as advance:
        damaged = store.verify(advance)
    for shard in sorted({row.shard for row in store.rows if row.id in set(damaged)}):
        note(f"{store.folder / shard} holds damaged samples: delete its .json and run `specflash dump` again")
    say(f"{len(store) - len(damaged)} of {len(store)} samples are as they were written")
    far = []
    if recompute and len(store) > len(damaged):
        if store.manifest.origin != "dump":
            note("these features were imported: without their pictures they cannot be computed again")
        else:
            dumped.check_source(settings.dump.source)
            far = _recompute(settings, store, set(damaged), recompute)
    return not damaged and not far


def _recompute(settings: Settings, store: FeatureStore, damaged: set[str], count: int) -> list[str]:
    """Ids of samples that the target gives other features for."""
    samples = _stored(open_source(settings.dump), set(store.ids()) - damaged, count)
    use_threads(settings.dump.cpus_per_actor)
    target = settings.target
    with step(f"load {target.name}"):
        passes = FeaturePasses(load_target(target.name, target.weights, target.dtype, target.device),
                               store.manifest.inner)
    if passes.target.fingerprint != store.manifest.fingerprint:
        raise UserError(f"{store.folder} holds features of other weights than those of the target `{target.name}`")
    differences = {}
    with progress("compute again", len(samples)) as advance:
        for sample in samples:
            differences[sample.id] = difference(passes, sample, store.read(sample.id))
            advance()
    far = [id for id, found in differences.items() if found > FAR]
    say(f"{len(differences) - len(far)} of {len(differences)} samples computed again are as the target gives them "
        f"(largest relative difference {max(differences.values()):.2g})")
    for id in far[:NAMED]:
        note(f"{id}: the stored features differ from the target's by {differences[id]:.2g} of their size")
    return far


def _stored(dataset: Dataset, ids: set[str], count: int) -> list[Sample]:
    """The source's first samples that are in the store."""
    found: list[Sample] = []
    for index in range(len(dataset)):
        try:
            sample = dataset[index]
        except (UserError, OSError, ValueError):
            continue
        if sample.id in ids:
            ids.discard(sample.id)
            found.append(sample)
        if len(found) == count:
            break
    return found


def difference(passes: FeaturePasses, sample: Sample, stored: Features) -> float:
    """Size of the difference between stored and computed features, over the size of the latter; where there are inner
    states too, the larger of both.

    The sample gives the media and the stored tokens the text: the answers may be the target's own.
    """
    asked = passes.target.encode(replace(sample, turns=(Turn(sample.turns[0].question),)))
    ids = stored.ids[None].to(passes.target.device)                                  # [1, L]
    computed = parted(passes.rows(asked, ids).to("cpu", torch.bfloat16).float(), passes.target.width)
    pairs = zip((stored.features, stored.inner), computed, strict=True)                      # [L, D] each
    return max(float((mine.float() - its).norm() / its.norm()) for mine, its in pairs if its is not None)
