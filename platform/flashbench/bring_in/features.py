"""Feature files of others into the store: every file written, skipped, repeated or in quarantine. It knows no layout.

The store is the one that `specflash train` reads with the same settings. The files hold fp16 and the store bf16,
so features lose three bits of their mantissa; and since somebody else computed them, they share a store with
nothing that was dumped here.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from flashbench.bring_in.foreign import Frame, read_foreign
from flashbench.console import Advance, note, progress
from flashbench.dump.account import Account
from flashbench.dump.manifest import Manifest
from flashbench.dump.quarantine import Quarantined, check_budget, write_quarantine
from flashbench.dump.shards import Limits, ShardWriter, Writer, piece_name
from flashbench.dump.source import write_source
from flashbench.dump.store import finished
from flashbench.lock import sole_writer
from flashbench.settings import Settings
from specflash.errors import UserError
from specflash.targets import load_ends, target_fingerprint, visual_ids

SOURCE = "import"
CHUNK = 64
"""Files whose samples go into shards together."""


def import_features(settings: Settings, files: Sequence[Path]) -> Account:
    """Take the files into the store of the settings; running it again continues.

    Raises UserError for a store that was dumped or made of other weights, for a full disk, and where too many files
    are bad; the good ones are kept in every case.
    """
    folder, target, started = settings.dump_folder, settings.target, time.monotonic()
    table = load_ends(target.name, target.weights).embedding
    Manifest(target=target.name, fingerprint=target_fingerprint(target.name, target.weights), dtype=target.dtype,
             max_length=settings.dump.max_length, width=table.shape[1], origin=SOURCE).claim(folder)
    frame = Frame(table, visual_ids(target.name, target.weights), settings.dump.max_length)
    with sole_writer(folder, "import"):
        taken = _Taken(settings, frame)
        with progress("import features", len(files)) as advance:
            for start in range(0, len(files), CHUNK):
                taken.add(files[start:start + CHUNK], advance)
        write_source(folder, settings.dump.source, finished(folder))
        write_quarantine(folder, SOURCE, taken.bad)
    check_budget(taken.bad, len(files), settings.dump.error_budget, folder)
    account = Account(total=len(files), written=taken.written, skipped=taken.skipped, duplicates=taken.duplicates,
                      quarantined=len(taken.bad), seconds=time.monotonic() - started)
    note(f"{account} in {folder}")
    return account


class _Taken:
    """What became of the files so far."""

    def __init__(self, settings: Settings, frame: Frame):
        self.settings, self.frame = settings, frame
        self.before = set(finished(settings.dump_folder))
        self.seen: set[str] = set()
        self.written = self.skipped = self.duplicates = 0
        self.bad: list[Quarantined] = []

    def add(self, files: Sequence[Path], advance: Advance) -> None:
        """Some files, into shards of their own. Raises DiskFull."""
        dump, device = self.settings.dump, "cpu"
        shards = ShardWriter(self.settings.dump_folder, piece_name([str(file.absolute()) for file in files]),
                             Limits(dump.shard_mb, dump.reserve_mb), Writer(os.getpid(), (), device))
        for file in files:
            self._add(file, shards)
            advance()
        shards.flush()

    @torch.inference_mode()
    def _add(self, file: Path, shards: ShardWriter) -> None:
        try:
            sample = read_foreign(file, self.frame)
        except UserError as error:
            number = self.written + self.skipped + self.duplicates + len(self.bad)
            self.bad.append(Quarantined(SOURCE, number, None, f"{file}: {error}"))
            return
        if sample.id in self.seen:
            self.duplicates += 1
        elif sample.id in self.before:
            self.skipped += 1
        else:
            self.written += 1
            shards.add(sample)
        self.seen.add(sample.id)
