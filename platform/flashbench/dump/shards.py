"""Shards of finished samples: each written once, whole or not at all. It knows no Ray and no reader.

    shard-<name>.safetensors `prefix-<hash>/features` once for all samples that share a visual prefix;
                             per sample `<id>/features` behind the prefix, `<id>/ids`, `<id>/answer_mask`, `<id>/spans`;
                             where inner states are stored, `prefix-<hash>/inner` and `<id>/inner` in the same way
    shard-<name>.json        its index: one row per sample, and who wrote it

A shared prefix is found by its features' own bytes, and a shard never refers to another one.

The index is renamed into place after its shard is durable, and it alone makes samples count: a
shard without index is a leftover of a killed dump. A kill loses the unfinished shard, no more.
"""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from shutil import disk_usage

import torch
from safetensors.torch import save
from torch import Tensor

from flashbench.dump.manifest import library_versions
from flashbench.lock import holder
from specflash.errors import UserError
from specflash.files import DiskFull, write_whole
from specflash.records import Features

PARTS = ("ids", "features", "answer_mask", "spans")
INNER = "inner"
WIDE = ("features", INNER)
"""Parts of width D, whose visual prefix is stored once."""

MIB = 2**20
HASH = 16
"""Hex digits of a prefix's name."""


@dataclass(frozen=True)
class Row:
    """One finished sample: where it lies and how long it is.

    shard     file name
    checksum  sha256 of its tensors' bytes in the order of PARTS, then INNER's, as they are read
    prefix    hash of the features (and inner states) of its visual prefix; empty without one
    """

    id: str
    shard: str
    tokens: int
    answer_tokens: int
    checksum: str
    prefix: str = ""


@dataclass(frozen=True)
class Limits:
    """target_mb   about how large a shard becomes, in MiB
    reserve_mb  MiB of the disk that are to stay free
    """

    target_mb: float = 64
    reserve_mb: float = 0


@dataclass(frozen=True)
class Writer:
    """Who wrote a shard: process, the accelerators Ray gave it, torch device."""

    pid: int
    gpus: tuple[str, ...]
    device: str


class ShardWriter:
    """Collects the samples of one piece of work and writes them in shards of about `limits.target_mb`.

    The piece's name follows from what was asked for (`piece_name`), so an attempt that is
    repeated finds what the attempt before it finished: `done` holds those rows by id, and
    nothing durable is written again.

    begun_by  the `holder` of the folder when this work was given out; None: the present one
    """

    def __init__(self, folder: Path, name: str, limits: Limits, writer: Writer, begun_by: str | None = None):
        self.folder = folder
        self.name = name
        self.writer = writer
        self.done: dict[str, Row] = {}
        self._holder = holder(folder) if begun_by is None else begun_by
        self._limits = limits
        self._part = 0
        self._clear()
        while self._index_path.exists():
            self.done |= {row.id: row for row in read_rows(self._index_path)}
            self._part += 1

    def add(self, sample: Features) -> None:
        """Take a sample in; writes a shard when enough have come together."""
        tensors, prefix = _tensors(sample), ""
        wide = [part for part in WIDE if part in tensors]
        if sample.prefix:
            shared = {part: tensors[part][:sample.prefix] for part in wide}
            prefix = digest_of(*shared.values())[:HASH]
            for part, tensor in shared.items():
                self._take(f"prefix-{prefix}/{part}", tensor)
        self._rows.append(Row(id=sample.id, shard=self._shard_path.name, tokens=len(sample.ids),
                              answer_tokens=int(sample.answer_mask.sum()), checksum=checksum_of(tensors),
                              prefix=prefix))
        stored = {**tensors, "ids": tensors["ids"].int(), **{part: tensors[part][sample.prefix:] for part in wide}}
        for part, tensor in stored.items():
            self._take(f"{sample.id}/{part}", tensor)
        if self._bytes >= self._limits.target_mb * MIB:
            self.flush()

    def _take(self, name: str, tensor: Tensor) -> None:
        if name not in self._tensors:
            self._tensors[name] = tensor.clone()  # a view would keep all of its sample in memory
            self._bytes += tensor.nbytes

    def flush(self) -> None:
        """Make everything taken in so far durable: the shard, then its index. Raises DiskFull.

        Raises UserError where another dump has begun meanwhile: it does these samples itself.
        """
        if not self._rows:
            return
        index = {"writer": {**asdict(self.writer), "versions": library_versions()},
                 "samples": [asdict(row) for row in self._rows]}
        check_room(self.folder, self._bytes, self._limits.reserve_mb)
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


def check_room(folder: Path, size: int, reserve_mb: float) -> None:
    """Raises DiskFull where `size` more bytes would leave less than `reserve_mb` of the disk free."""
    free = disk_usage(folder).free
    if free - size < reserve_mb * MIB:
        raise DiskFull(f"{free / MIB:.0f} MiB are free in {folder}, and {size / MIB:.0f} more would not leave "
                       f"dump.reserve_mb={reserve_mb:g}: what is finished is kept; free some space and run the same "
                       "command again to continue")


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
    """As read: ids [L] int64, features and inner [L, D] bf16, answer_mask [L] bool, spans [P, 2] int64."""
    inner = {} if sample.inner is None else {INNER: sample.inner.to(torch.bfloat16).contiguous()}
    return {"ids": sample.ids.contiguous(), "features": sample.features.to(torch.bfloat16).contiguous(),
            "answer_mask": sample.answer_mask.contiguous(),
            "spans": torch.tensor(sample.spans, dtype=torch.int64).reshape(-1, 2), **inner}


def checksum_of(tensors: dict[str, Tensor]) -> str:
    return digest_of(*(tensors[part] for part in (*PARTS, INNER) if part in tensors))


def digest_of(*tensors: Tensor) -> str:
    """sha256 of their bytes."""
    digest = sha256()
    for tensor in tensors:
        digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()
