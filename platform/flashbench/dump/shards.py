"""Shards of finished samples: each written once, whole or not at all. It knows no Ray and no reader.

    shard-<name>.safetensors `<id>/ids`, `<id>/features`, `<id>/answer_mask`, `<id>/spans` per sample
    shard-<name>.json        its index: one row per sample, and who wrote it

The index is renamed into place after its shard is durable, and it alone makes samples count: a
shard without index is a leftover of a killed dump. A kill loses the unfinished shard, no more.
"""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor

from flashbench.dump.manifest import library_versions
from flashbench.lock import holder
from specflash.errors import UserError
from specflash.files import write_whole
from specflash.records import Features

PARTS = ("ids", "features", "answer_mask", "spans")


@dataclass(frozen=True)
class Row:
    """One finished sample: where it lies and how long it is.

    shard     file name
    checksum  sha256 of its tensors' bytes in the order of PARTS
    """

    id: str
    shard: str
    tokens: int
    answer_tokens: int
    checksum: str


@dataclass(frozen=True)
class Writer:
    """Who wrote a shard: process, the accelerators Ray gave it, torch device."""

    pid: int
    gpus: tuple[str, ...]
    device: str


class ShardWriter:
    """Collects the samples of one piece of work and writes them in shards of about `target_mb`.

    The piece's name follows from what was asked for (`piece_name`), so an attempt that is
    repeated finds what the attempt before it finished: `done` holds those rows by id, and
    nothing durable is written again.

    begun_by  the `holder` of the folder when this work was given out; None: the present one
    """

    def __init__(self, folder: Path, name: str, target_mb: float, writer: Writer, begun_by: str | None = None):
        self.folder = folder
        self.name = name
        self.writer = writer
        self.done: dict[str, Row] = {}
        self._holder = holder(folder) if begun_by is None else begun_by
        self._limit = target_mb * 2**20
        self._part = 0
        self._clear()
        while self._index_path.exists():
            self.done |= {row.id: row for row in read_rows(self._index_path)}
            self._part += 1

    def add(self, sample: Features) -> None:
        """Take a sample in; writes a shard when enough have come together."""
        tensors = _tensors(sample)
        self._rows.append(Row(id=sample.id, shard=self._shard_path.name, tokens=len(sample.ids),
                              answer_tokens=int(sample.answer_mask.sum()), checksum=checksum_of(tensors)))
        self._tensors |= {f"{sample.id}/{part}": tensor for part, tensor in tensors.items()}
        self._bytes += sum(tensor.nbytes for tensor in tensors.values())
        if self._bytes >= self._limit:
            self.flush()

    def flush(self) -> None:
        """Make everything taken in so far durable: the shard, then its index. Raises DiskFull.

        Raises UserError where another dump has begun meanwhile: it does these samples itself.
        """
        if not self._rows:
            return
        index = {"writer": {**asdict(self.writer), "versions": library_versions()},
                 "samples": [asdict(row) for row in self._rows]}
        write_whole(self._shard_path, save(self._tensors))
        if holder(self.folder) != self._holder:
            raise UserError(f"another dump has taken over {self.folder}")
        write_whole(self._index_path, json.dumps(index).encode())
        self.done |= {row.id: row for row in self._rows}
        self._part += 1
        self._clear()

    def _clear(self) -> None:
        self._rows: list[Row] = []
        self._tensors: dict[str, Tensor] = {}
        self._bytes = 0

    @property
    def _shard_path(self) -> Path:
        return self.folder / f"shard-{self.name}-{self._part}.safetensors"

    @property
    def _index_path(self) -> Path:
        return self._shard_path.with_suffix(".json")


def piece_name(ids: list[str]) -> str:
    """16 hex digits for the piece of work that asks for these samples."""
    return sha256("\n".join(sorted(ids)).encode()).hexdigest()[:16]


def read_rows(index_path: Path) -> list[Row]:
    """Raises UserError where the index is damaged."""
    try:
        rows = [Row(**row) for row in json.loads(index_path.read_bytes())["samples"]]
        if all(isinstance(row.id, str) and isinstance(row.tokens, int) for row in rows):
            return rows
    except (ValueError, KeyError, TypeError):
        pass
    raise UserError(f"the index {index_path} is damaged: bring it back, or delete it and run `specflash dump` again")


def _tensors(sample: Features) -> dict[str, Tensor]:
    """As stored: ids [L] int64, features [L, D] bf16, answer_mask [L] bool, spans [P, 2] int64."""
    return {"ids": sample.ids.contiguous(), "features": sample.features.to(torch.bfloat16).contiguous(),
            "answer_mask": sample.answer_mask.contiguous(),
            "spans": torch.tensor(sample.spans, dtype=torch.int64).reshape(-1, 2)}


def checksum_of(tensors: dict[str, Tensor]) -> str:
    digest = sha256()
    for part in PARTS:
        digest.update(tensors[part].flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
