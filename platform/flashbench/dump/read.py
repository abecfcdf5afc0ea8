"""The CPU side of the dump: whether a sample's media are sound. It knows no target.

A reader decodes every picture and every shown frame to prove it sound, yet passes on the encoded bytes: they
are some ten times smaller than pixels, so blocks stay small, and the target's own processor then
sees the very bytes that serving would give it.
"""

import pyarrow as pa

from flashbench.dump.rows import PIECE_SCHEMA, to_row
from flashbench.settings import DumpSettings
from flashbench.sources import open_samples
from specflash.data import Dataset, Questions
from specflash.data.video import load_frames
from specflash.errors import UserError, one_line


def open_source(dump: DumpSettings) -> Dataset:
    """The samples to dump; without the data set's answers where the target gives its own."""
    dataset = open_samples(dump.source, dump.source.limit)
    return Questions(dataset) if dump.answers == "target" else dataset


class Reader:
    """Pieces of (index, id) -> PIECE_SCHEMA, a bad sample with its reason and without media.

    A class, so that Ray Data gives readers processes of their own: it would run a plain function
    inside the actors that hold the target whenever both ask for the same resources.
    """

    def __init__(self, dump: DumpSettings):
        self.dataset = open_source(dump)

    def __call__(self, batch: pa.Table) -> pa.Table:
        pieces = [{"samples": [self._read(row) for row in piece["samples"]]} for piece in batch.to_pylist()]
        return pa.Table.from_pylist(pieces, schema=PIECE_SCHEMA)

    def _read(self, row: dict) -> dict:
        try:
            sample = self.dataset[row["index"]]
            for medium in sample.media:
                load_frames(medium)
            return to_row(row["index"], sample)
        except (UserError, OSError, ValueError) as error:
            return {**row, "reason": one_line(error)}
