"""Which samples of a store are those of the current source. It knows no target and no Ray.

A store keeps what was dumped from earlier sources, so that going back to one costs nothing.
Training takes the samples that are named here and no others: the split, the limit or the drawn
scenes may have been different ones before.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from flashbench.console import progress
from flashbench.dump.manifest import Manifest
from flashbench.dump.quarantine import read_quarantine
from flashbench.dump.store import FeatureStore
from flashbench.settings import SourceSettings
from specflash.errors import UserError
from specflash.files import write_whole

FILE = "source.json"


def write_source(folder: Path, source: SourceSettings, ids: Iterable[str]) -> None:
    """Say that the store's samples are these from now on; all others stay and are left out."""
    write_whole(folder / FILE, json.dumps({"source": _identity(source), "ids": sorted(ids)}).encode())


def source_store(folder: Path) -> FeatureStore:
    """The finished samples of the source that was dumped last. Raises UserError where there is no such store."""
    Manifest.load(folder)
    return FeatureStore(folder, only=frozenset(_read(folder)["ids"]))


def check_source(folder: Path, source: SourceSettings) -> None:
    """Raises UserError where the source that was dumped last is not `source`."""
    dumped, wanted = _read(folder)["source"], _identity(source)
    changed = [f"{key} {dumped.get(key)} → {wanted[key]}" for key in wanted if dumped.get(key) != wanted[key]]
    if changed:
        raise UserError(f"{folder} was dumped from another source than dump.source ({'; '.join(changed)}): run "
                        "`specflash dump` first (what is finished is kept), or change dump.source back")


def check_complete(store: FeatureStore) -> None:
    """Raises UserError where samples of the source are neither dumped nor in quarantine, as after a kill."""
    ids = _read(store.folder)["ids"]
    missing = set(ids) - set(store.ids()) - {entry.id for entry in read_quarantine(store.folder)}
    if missing:
        raise UserError(f"{len(missing)} of {len(ids)} samples of dump.source are not in {store.folder}: run "
                        "`specflash dump` (what is finished is kept)")


def check_intact(store: FeatureStore) -> None:
    """Read every sample and hold it against its checksum. Raises UserError where bytes have changed."""
    with progress("check the features", len(store)) as advance:
        damaged = store.verify(advance)
    if damaged:
        shards = sorted({row.shard for row in store.rows if row.id in set(damaged)})
        raise UserError(f"{len(damaged)} samples in {store.folder} are damaged, in {', '.join(shards[:3])}: delete "
                        f"{Path(shards[0]).with_suffix('.json')} and its like, and run `specflash dump` again")


def _identity(source: SourceSettings) -> dict[str, str | int | None]:
    return source.model_dump(mode="json") | {"path": source.path and str(source.path.absolute())}


def _read(folder: Path) -> dict:
    path = folder / FILE
    try:
        entries = json.loads(path.read_bytes())
        ids = entries["ids"]
        if isinstance(entries["source"], dict) and isinstance(ids, list) and all(isinstance(id, str) for id in ids):
            return entries
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise UserError(f"{path} does not say which samples dump.source has: run `specflash dump` again "
                    "(what is finished is kept and not computed again)")
