"""What a dump will take: bytes, shards, seconds, from the index of the data and a probe of a few samples.

It does arithmetic only; the probe is made elsewhere (dump/probe.py).
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from flashbench.dump.plan import pieces
from flashbench.settings import DumpSettings
from specflash.data import Dataset
from specflash.errors import UserError
from specflash.records import Features, Prompt

BF16, ID, MASK, SPAN = 2, 4, 1, 16
"""Bytes in the store: of one number of a feature, per token of its id and its answer mask, per picture of its span."""

FP16 = 2


@dataclass(frozen=True)
class Work:
    """What there is to do, from the index of the data alone.

    samples   that differ in their media or their text
    pictures  different media among them
    pieces    pieces of work, and `prefixes` the sum of the different media in each
    """

    samples: int
    pictures: int
    pieces: int
    prefixes: int


def work_of(dataset: Dataset, at_most: int) -> Work:
    """at_most  samples of a piece. Samples whose entry cannot be read are left out."""
    media: dict[Hashable, Hashable] = {}
    for seen, turns in _entries(dataset):
        media[seen, turns] = seen
    cut = pieces(media, media, at_most)
    return Work(len(media), len({seen for seen in media.values() if seen is not None}), len(cut),
                sum(len({media[sample] for sample in piece} - {None}) for piece in cut))


def _entries(dataset: Dataset) -> Iterator[tuple[int | None, int]]:
    for index in range(len(dataset)):
        try:
            seen, turns = dataset.entry(index)
        except (UserError, OSError, ValueError):
            continue
        yield hash(seen) if seen else None, hash(turns)


@dataclass(frozen=True)
class Shape:
    """Tokens of one sample: all of it, its visual prefix, and how many pictures it has."""

    tokens: int
    prefix: int
    pictures: int

    @classmethod
    def of(cls, sample: Prompt | Features) -> "Shape":
        tokens = sample.length if isinstance(sample, Prompt) else len(sample.ids)
        return cls(tokens, sample.prefix, len(sample.spans))

    def rest_bytes(self, width: int) -> int:
        """What the store holds of this sample alone."""
        return (self.tokens - self.prefix) * BF16 * width + self.tokens * (ID + MASK) + SPAN * self.pictures

    def prefix_bytes(self, width: int) -> int:
        return self.prefix * BF16 * width

    def flashsd_bytes(self, width: int) -> int:
        """Features and embeddings in fp16, as FlashSD and EAGLE write them for every sample."""
        return 2 * self.tokens * FP16 * width


@dataclass(frozen=True)
class Probe:
    """What was found out about a few samples.

    shapes          of those that can be dumped; `bad` cannot
    seconds         of one worker per sample without its visual prefix, and per prefix; None: not timed
    memory          peak of the process (or of the accelerator) that ran them; None: nothing ran
    """

    shapes: tuple[Shape, ...]
    bad: int
    sample_seconds: float | None = None
    prefix_seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Estimate:
    """What the whole dump takes. Bytes are those of tensors; headers and the index add less than 1 %.

    sample_bytes           mean of what is stored per sample, its share of shared prefixes included
    sample_bytes_unshared  the same if nobody shared a prefix
    sample_bytes_flashsd   the same in FlashSD's layout (features and embeddings in fp16, nothing shared)
    seconds                of all workers together, without their start; None: not timed
    """

    samples: int
    pictures: int
    tokens: float
    prefix_tokens: float
    sample_bytes: float
    sample_bytes_unshared: float
    sample_bytes_flashsd: float
    bytes: int
    shards: int
    seconds: float | None


def estimate(work: Work, found: Probe, dump: DumpSettings, width: int) -> Estimate:
    """Raises UserError where no sample of the probe can be dumped."""
    if not found.shapes:
        raise UserError(f"none of the {found.bad} samples that were looked at can be dumped: run `specflash prepare`")
    wide = width if dump.inner is None else 2 * width  # inner states lie beside the features
    rest = fmean(shape.rest_bytes(wide) for shape in found.shapes)
    seen = [shape for shape in found.shapes if shape.prefix]
    prefix = fmean(shape.prefix_bytes(wide) for shape in seen) if seen else 0.0
    total = round(work.samples * rest + work.prefixes * prefix)
    shards = work.pieces * ceil(total / max(1, work.pieces) / (dump.shard_mb * 2**20))
    return Estimate(
        samples=work.samples, pictures=work.pictures, tokens=fmean(shape.tokens for shape in found.shapes),
        prefix_tokens=fmean(shape.prefix for shape in found.shapes), sample_bytes=total / max(1, work.samples),
        sample_bytes_unshared=rest + fmean(shape.prefix_bytes(wide) for shape in found.shapes),
        sample_bytes_flashsd=fmean(shape.flashsd_bytes(width) for shape in found.shapes),
        bytes=total, shards=shards, seconds=_seconds(work, found, dump))


def _seconds(work: Work, found: Probe, dump: DumpSettings) -> float | None:
    if found.sample_seconds is None:
        return None
    return (work.samples * found.sample_seconds + work.prefixes * found.prefix_seconds) / dump.actors
