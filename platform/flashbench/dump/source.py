"""Which samples of a store are those of the current source. It knows no target and no Ray.

A store keeps what was dumped from earlier sources, so that going back to one costs nothing.
Training takes the samples that are named here and no others: the split, the limit or the drawn
scenes may have been different ones before.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from flashbench.dump.manifest import Manifest
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


def _identity(source: SourceSettings) -> dict[str, str | int | None]:
    return source.model_dump(mode="json") | {"path": source.path and str(source.path.absolute())}


def _read(folder: Path) -> dict:
    path = folder / FILE
    try:
        entries = json.loads(path.read_bytes())
        if isinstance(entries["source"], dict) and isinstance(entries["ids"], list):
            return entries
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    raise UserError(f"{path} does not say which samples dump.source has: run `specflash dump` again "
                    "(what is finished is kept and not computed again)")
