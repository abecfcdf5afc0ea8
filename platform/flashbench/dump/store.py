"""The feature store, read side: finished samples in the order of their ids. It knows no Ray.

    manifest.json            what shapes the features (manifest.py)
    shard-*.safetensors      features, and shard-*.json their index (shards.py)
    source.json              which samples the current source has (source.py)
    quarantine.jsonl         samples that were left out, and why (quarantine.py)
"""

from collections.abc import Callable, Collection
from functools import lru_cache
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from flashbench.dump.manifest import Manifest
from flashbench.dump.shards import INNER, PARTS, WIDE, Row, checksum_of, read_rows
from specflash.errors import UserError
from specflash.records import Features

OPEN_SHARDS = 64


def finished(folder: Path) -> dict[str, Row]:
    """Row of every finished sample by id, in the order of ids.

    A worker of a killed dump may outlive its driver by a moment and finish a sample that the
    next dump does too; the shard that comes first in name order is then the one that counts.
    """
    rows: dict[str, Row] = {}
    for index_path in sorted(folder.glob("shard-*.json")):
        for row in read_rows(index_path):
            rows.setdefault(row.id, row)
    return dict(sorted(rows.items()))


class FeatureStore:
    """Read side, in the order of ids: order and number of the writers never show.

    only  ids to be seen; None: every finished sample

    Raises UserError where `folder` is no feature store.
    """

    def __init__(self, folder: Path | str, only: Collection[str] | None = None):
        self.folder = Path(folder)
        self.manifest = Manifest.load(self.folder)
        self.rows = tuple(row for row in finished(self.folder).values() if only is None or row.id in only)
        self._by_id = {row.id: row for row in self.rows}

    def __len__(self) -> int:
        return len(self.rows)

    def ids(self) -> list[str]:
        return [row.id for row in self.rows]

    def lengths(self) -> list[int]:
        """Tokens of each sample, without touching a shard."""
        return [row.tokens for row in self.rows]

    def read(self, key: int | str, inner: bool = True) -> Features:
        """The sample at a place in `ids()`, or the one with this id. The shard is memory-mapped.

        inner  with its inner states, where there are any
        """
        row = self._row(key)
        parts = self._parts(row, inner)
        return Features(id=row.id, ids=parts["ids"], features=parts["features"], answer_mask=parts["answer_mask"],
                        inner=parts.get(INNER),
                        spans=tuple((start, length) for start, length in parts["spans"].tolist()))

    def answer_ids(self, key: int | str) -> Tensor:
        """Tokens of the sample's answers [answer_tokens], without reading its features."""
        row = self._row(key)
        return self._tensor(row, "ids")[self._tensor(row, "answer_mask")].long()

    def verify(self, advance: Callable[[], None] = lambda: None) -> list[str]:
        """Ids of samples whose bytes are not those that were written; calls `advance` per sample."""
        damaged = []
        for row in self.rows:
            if not self._is_intact(row):
                damaged.append(row.id)
            advance()
        return damaged

    def _is_intact(self, row: Row) -> bool:
        try:
            return checksum_of(self._parts(row)) == row.checksum
        except UserError:
            return False

    def _row(self, key: int | str) -> Row:
        return self.rows[key] if isinstance(key, int) else self._by_id[key]

    def _parts(self, row: Row, inner: bool = True) -> dict[str, Tensor]:
        """The sample's tensors by PARTS, and INNER's where it is stored and wanted, whole again."""
        stored = inner and self.manifest.inner is not None
        parts = {part: self._tensor(row, part) for part in (*PARTS, *([INNER] if stored else []))}
        parts["ids"] = parts["ids"].long()
        for part in WIDE if row.prefix else ():
            if part in parts:
                shared = _open_shard(self.folder / row.shard).get_tensor(f"prefix-{row.prefix}/{part}")
                parts[part] = torch.cat([shared, parts[part]])                        # [P, D] + [L-P, D]
        return parts

    def _tensor(self, row: Row, part: str) -> Tensor:
        return _open_shard(self.folder / row.shard).get_tensor(f"{row.id}/{part}")


@lru_cache(maxsize=OPEN_SHARDS)
def _open_shard(path: Path) -> safe_open:
    """Shards are never rewritten, so a mapping stays valid."""
    try:
        return safe_open(path, framework="pt")
    except (OSError, SafetensorError):
        raise UserError(f"the feature shard {path} is gone or damaged: bring it back, or delete "
                        f"{path.with_suffix('.json')} and dump again") from None
