"""The CPU side of the dump: whether a sample's pictures are sound. It knows no target.

A reader decodes every picture in full to prove it sound, yet passes on the encoded bytes: they
are some ten times smaller than pixels, so blocks stay small, and the target's own processor then
sees the very bytes that serving would give it.
"""

import pyarrow as pa

from flashbench.dump.rows import PIECE_SCHEMA, to_row
from flashbench.settings import DumpSettings
from specflash.data import Dataset, Questions, open_dataset
from specflash.data.media import load_picture
from specflash.errors import UserError, one_line
from specflash.records import Sample, picture_bytes


def open_source(dump: DumpSettings) -> Dataset:
    """The samples to dump; without the data set's answers where the target gives its own."""
    source = dump.source
    dataset = open_dataset(source.dataset, source.path, source.split, source.limit)
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
            return to_row(row["index"], sample, _sound_pictures(sample))
        except (UserError, OSError, ValueError) as error:
            return {**row, "reason": one_line(error)}


def _sound_pictures(sample: Sample) -> list[bytes]:
    """The sample's encoded pictures. Raises UserError where one cannot be decoded to its end."""
    for picture in sample.images:
        load_picture(picture)
    return [picture_bytes(picture) for picture in sample.images]
