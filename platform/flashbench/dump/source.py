"""Which samples of a store are those of the current source. It knows no target and no Ray.

A store keeps what was dumped from earlier sources, so that going back to one costs nothing.
Training takes the samples that are named here and no others: the split, the limit or the drawn
scenes may have been different ones before.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashbench.console import progress
from flashbench.data_settings import SourceSettings
from flashbench.dump.manifest import Manifest
from flashbench.dump.quarantine import read_quarantine
from flashbench.dump.store import FeatureStore
from specflash.errors import UserError
from specflash.files import write_whole

FILE = "source.json"


def write_source(folder: Path, source: SourceSettings, ids: Iterable[str]) -> None:
    """Say that the store's samples are these from now on; all others stay and are left out."""
    write_whole(folder / FILE, json.dumps({"source": _identity(source), "ids": sorted(ids)}).encode())


@dataclass(frozen=True)
class Dumped:
    """The source that was dumped last, as `source.json` has it.

    source  its settings
    ids     of all its samples, also of those that are in quarantine or not finished
    """

    folder: Path
    source: dict[str, Any]
    ids: frozenset[str]

    def store(self) -> FeatureStore:
        """The finished samples of this source."""
        return FeatureStore(self.folder, only=self.ids)

    def check_source(self, source: SourceSettings) -> None:
        """Raises UserError where this source is not `source`."""
        wanted = _identity(source)
        changed = [f"{key} {self.source.get(key)} → {wanted.get(key)}" for key in {**wanted, **self.source}
                   if self.source.get(key) != wanted.get(key)]
        if changed:
            raise UserError(f"{self.folder} was dumped from another source than dump.source ({'; '.join(changed)}): "
                            "run `specflash dump` first (what is finished is kept), or change dump.source back")

    def check_complete(self, store: FeatureStore) -> None:
        """Raises UserError where samples of the source are neither dumped nor in quarantine, as after a kill."""
        missing = self.ids - set(store.ids()) - {entry.id for entry in read_quarantine(self.folder)}
        if missing:
            raise UserError(f"{len(missing)} of {len(self.ids)} samples of dump.source are not in {self.folder}: run "
                            "`specflash dump` (what is finished is kept)")


def read_source(folder: Path) -> Dumped:
    """Raises UserError where `folder` is no feature store, or does not name its source."""
    Manifest.load(folder)
    path = folder / FILE
    try:
        entries = json.loads(path.read_bytes())
        source, ids = entries["source"], entries["ids"]
        if isinstance(source, dict) and isinstance(ids, list) and all(isinstance(id, str) for id in ids):
            return Dumped(folder, source, frozenset(ids))
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise UserError(f"{path} does not say which samples dump.source has: run `specflash dump` again "
                    "(what is finished is kept and not computed again)")


def source_store(folder: Path) -> FeatureStore:
    """The finished samples of the source that was dumped last. Raises UserError where there is no such store."""
    return read_source(folder).store()


def check_intact(store: FeatureStore) -> None:
    """Read every sample and hold it against its checksum. Raises UserError where bytes have changed."""
    with progress("check the features", len(store)) as advance:
        damaged = store.verify(advance)
    if damaged:
        shards = sorted({row.shard for row in store.rows if row.id in set(damaged)})
        raise UserError(f"{len(damaged)} samples in {store.folder} are damaged, in {', '.join(shards[:3])}: delete "
                        f"{Path(shards[0]).with_suffix('.json')} and its like, and run `specflash dump` again")


def _identity(source: SourceSettings) -> dict[str, Any]:
    return {key: value for key, value in source.placed().model_dump(mode="json").items() if value != []}
