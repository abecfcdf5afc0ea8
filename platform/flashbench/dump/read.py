"""The CPU side of the dump: who a sample is, and whether its pictures are sound. It knows no target.

A reader decodes every picture in full to prove it sound, yet passes on the encoded bytes: they
are some ten times smaller than pixels, so blocks stay small, and the target's own processor then
sees the very bytes that serving would give it.
"""

from functools import lru_cache

import pyarrow as pa

from flashbench.dump.rows import IDENTITY_SCHEMA, READ_SCHEMA, to_row
from flashbench.settings import SourceSettings
from specflash.data import Dataset, open_dataset
from specflash.data.media import load_picture
from specflash.errors import UserError
from specflash.records import Sample, picture_bytes


@lru_cache(maxsize=1)
def open_source(source: SourceSettings) -> Dataset:
    """The data set, opened once per process."""
    return open_dataset(source.dataset, source.path, source.split, source.limit)


def identify(batch: pa.Table, source: SourceSettings) -> pa.Table:
    """Indices -> content ids. Reads and hashes the media, decodes nothing."""
    rows = [_identity(index, source) for index in batch["index"].to_pylist()]
    return pa.Table.from_pylist(rows, schema=IDENTITY_SCHEMA)


def read(batch: pa.Table, source: SourceSettings) -> pa.Table:
    """Rows (index, id) -> READ_SCHEMA, a bad sample with its reason and without media."""
    rows = [_read(row, source) for row in batch.to_pylist()]
    return pa.Table.from_pylist(rows, schema=READ_SCHEMA)


def _identity(index: int, source: SourceSettings) -> dict:
    try:
        return {"index": index, "id": open_source(source)[index].id}
    except (UserError, OSError) as error:
        return {"index": index, "reason": one_line(error)}


def _read(row: dict, source: SourceSettings) -> dict:
    try:
        sample = open_source(source)[row["index"]]
        return to_row(row["index"], sample, _sound_pictures(sample))
    except (UserError, OSError) as error:
        return {**row, "reason": one_line(error)}


def _sound_pictures(sample: Sample) -> list[bytes]:
    """The sample's encoded pictures. Raises UserError where one cannot be decoded to its end."""
    for picture in sample.images:
        load_picture(picture)
    return [picture_bytes(picture) for picture in sample.images]


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())
