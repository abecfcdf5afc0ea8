"""The dump: features of a frozen target for every sample of a source, with Ray Data.

    samples -> identify -> ids | anti-join with the store | unfinished, in pieces -> pool of Extractors -> shards
               (threads)         (driver)                                            (pool.py)

It knows no target family and no data set.
"""

import time
from contextlib import closing
from pathlib import Path

from flashbench.console import note
from flashbench.dump.account import Account
from flashbench.dump.extract import Extractor
from flashbench.dump.inner import inner_layer
from flashbench.dump.manifest import Manifest
from flashbench.dump.plan import Plan, make_plan, pieces, source_name
from flashbench.dump.pool import run_pool
from flashbench.dump.quarantine import Quarantined, check_budget, write_quarantine
from flashbench.dump.read import open_source
from flashbench.dump.rows import FULL, STORED
from flashbench.dump.source import write_source
from flashbench.dump.store import finished
from flashbench.lock import sole_writer
from flashbench.settings import Settings
from specflash.data import Dataset
from specflash.errors import UserError
from specflash.files import DiskFull
from specflash.targets import load_ends, target_fingerprint


def run_dump(settings: Settings) -> Account:
    """Extract what is not in the store yet. Running it again continues.

    Raises UserError for an unusable source, for a store made with other settings, when the disk
    is full, and when too many samples are bad; finished samples are kept in every case.
    """
    settings = settings.placed()
    folder, started = settings.dump_folder, time.monotonic()
    dataset = open_source(settings.dump)
    if len(dataset) == 0:
        raise UserError(f"{source_name(settings)} holds no samples: choose another `dump.source`")
    manifest_of(settings, dataset, folder).claim(folder)
    with sole_writer(folder, "dump"):
        plan = make_plan(settings, dataset, finished(folder))
        write_source(folder, settings.dump.source, plan.ids)
        written, bad = _extract(settings, plan) if plan.todo else (0, [])
        bad += plan.bad
        write_quarantine(folder, source_name(settings), bad)
    check_budget(bad, len(dataset), settings.dump.error_budget, folder)
    account = Account(total=len(dataset), written=written, skipped=plan.skipped, quarantined=len(bad),
                      duplicates=plan.duplicates, seconds=time.monotonic() - started)
    note(f"{account} in {folder}")
    return account


def manifest_of(settings: Settings, dataset: Dataset, folder: Path) -> Manifest:
    """What this target's features are; the target is loaded only where an inner layer is yet to be chosen.

    folder  where the manifest lies that may have one chosen already
    """
    target = settings.target
    ends = load_ends(target.name, target.weights, target.dtype)
    return Manifest(target=target.name, fingerprint=target_fingerprint(target.name, target.weights),
                    dtype=target.dtype, max_length=settings.dump.max_length, answers=settings.dump.answers,
                    max_new_tokens=settings.dump.max_new_tokens if settings.dump.answers == "target" else None,
                    width=ends.embedding.shape[1], inner=inner_layer(settings, dataset, folder))


def _extract(settings: Settings, plan: Plan) -> tuple[int, list[Quarantined]]:
    """Run the unfinished samples through readers and actors; returns how many were stored."""
    dump, stored, bad = settings.dump, 0, []
    work = pieces(plan.todo, plan.media, dump.batch)
    with closing(run_pool(settings, work, plan.todo, Extractor, f"dump {dump.source.name}")) as rows:
        for row in rows:
            if row["outcome"] == FULL:
                raise DiskFull(row["reason"])
            if row["outcome"] == STORED:
                stored += 1
            else:
                bad.append(Quarantined(source_name(settings), row["index"], row["id"], row["reason"]))
    return stored, bad
