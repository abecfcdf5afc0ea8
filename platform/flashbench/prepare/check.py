"""Checking one source: counts, missing and broken files, repeats, empty answers, lengths. It shows only bars."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from flashbench.console import progress
from flashbench.data_settings import CheckSettings, SourceSettings
from flashbench.prepare.decode import choose, find_broken
from flashbench.prepare.scan import Fault, Scan, Scanned, count_duplicates, fault, scan
from flashbench.sources import open_samples
from specflash.data import Dataset
from specflash.errors import UserError, one_line
from specflash.records import Clip, Medium, Prompt, Sample

EDGES = (0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Of the bars of a length histogram, in words."""


@dataclass(frozen=True)
class Use:
    """A source and who reads it.

    name    "dump", or "bench TASK"
    skip    samples of it that are not asked
    learnt  whether the data set's own answers are learnt from
    """

    name: str
    source: SourceSettings
    skip: int = 0
    learnt: bool = False


@dataclass
class Checked:
    """What was found of one source.

    samples     that its index has and this use takes, the faulty ones too
    missing     what the index lists and the folder lacks, which are no samples
    faults      samples with a wrong row, a missing file or a medium that does not decode
    examined    media that were decoded, of `media`; where not all were, `faults` holds the bad ones among them
    broken      of those, how many do not decode
    duplicates  samples that repeat an earlier one
    unanswered  samples without an answer; None where nobody learns from the data set's answers
    too_long    of `encoded` samples, how many have more tokens than dump.max_length
    trained_on  samples that show what the dump's source shows too; None for the dump itself
    words       of each sound sample
    sound       the samples that can be used
    """

    use: str
    dataset: str
    split: str
    path: Path | None
    samples: int
    missing: tuple[str, ...]
    faults: list[Fault]
    pictures: int
    clips: int
    examined: int
    broken: int
    duplicates: int
    unanswered: int | None
    sound: list[Scanned] = field(repr=False)
    encoded: int = 0
    too_long: int = 0
    trained_on: int | None = None

    @property
    def words(self) -> list[int]:
        return sorted(sample.words for sample in self.sound)

    @property
    def usable(self) -> int:
        """Sound samples, those without an answer to learn from left out."""
        return len(self.sound) - (self.unanswered or 0)

    @property
    def bad_share(self) -> float:
        """Of the samples; where only some media were decoded, at least the share that is broken among these."""
        shares = (len(self.faults) / self.samples if self.samples else 0.0,
                  self.broken / self.examined if self.examined else 0.0)
        return max(shares)

    def histogram(self) -> list[tuple[int, int | None, int]]:
        """(words from, words below, samples); the last bar is open."""
        ends = (*EDGES[1:], None)
        return [(low, high, sum(low <= words and (high is None or words < high) for words in self.words))
                for low, high in zip(EDGES, ends, strict=True)]

    def median_words(self) -> float | None:
        return median(self.words) if self.words else None


def check_source(use: Use, settings: CheckSettings) -> Checked:
    """Look at every sample of a source. Raises UserError where it does not open."""
    source = use.source
    limit = None if source.limit is None else use.skip + source.limit
    dataset = open_samples(source, limit)
    indices = range(min(use.skip, len(dataset)), len(dataset))
    with progress(f"read {use.name}", len(indices)) as advance:
        found = scan(dataset, indices, advance)
    media = found.media
    shown = choose(media, settings.media, settings.seed)
    with progress(f"decode {use.name}", len(shown)) as advance:
        faulty = find_broken(shown, lambda seen: seen.fetch(dataset), settings.workers, advance)
    broken = {seen.name: reason for seen, reason in faulty.items()}
    sound = _without(found, broken, dataset)
    return Checked(
        use=use.name, dataset=source.dataset, split=source.split, path=source.path, samples=len(indices),
        missing=dataset.missing, faults=sorted(found.faults, key=lambda fault: fault.index),
        pictures=sum(not isinstance(seen.name, Clip) for seen in media),
        clips=sum(isinstance(seen.name, Clip) for seen in media), examined=len(shown), broken=len(broken),
        duplicates=count_duplicates(dataset, sound),
        unanswered=sum(not sample.answered for sample in sound) if use.learnt else None, sound=sound)


def _without(found: Scan, broken: dict[Medium, str], dataset: Dataset) -> list[Scanned]:
    """The samples that show nothing broken; the others become faults."""
    sound = []
    for sample in found.samples:
        reason = next((broken[seen.name] for seen in sample.media if seen.name in broken), None)
        if reason is None:
            sound.append(sample)
        else:
            found.faults.append(fault(dataset, sample.index, reason))
    return sound


def check_lengths(checked: Checked, use: Use, encode: Callable[[Sample], Prompt], most: int, max_length: int) -> None:
    """Count among the first `most` sound samples those that have more tokens than the dump takes."""
    dataset = open_samples(use.source, None)
    with progress(f"encode {use.name}", min(most, len(checked.sound))) as advance:
        for sample in checked.sound[:most]:
            try:
                checked.too_long += encode(dataset[sample.index]).length > max_length
            except UserError as error:
                checked.faults.append(fault(dataset, sample.index, one_line(error)))
            checked.encoded += 1
            advance()
