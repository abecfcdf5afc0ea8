"""What a data set's index tells, and which of its files are there. It decodes nothing and knows no stage."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from os import stat

from specflash.data import Dataset
from specflash.errors import UserError, one_line
from specflash.records import Clip, Medium, Picture, Turn, picture_bytes

THREADS = 8
TROUBLE = (UserError, OSError, ValueError)
"""What a wrong row and a missing file raise, for their own sample only."""


@dataclass(frozen=True)
class Fault:
    """A sample that is of no use: where it stands, and why."""

    index: int
    where: str
    reason: str


@dataclass(frozen=True)
class Seen:
    """One picture or clip, without its bytes: a table's pictures together may be larger than the memory.

    name    the medium itself where it is a file, else with the hash of its bytes in place of these: equal
            names are equal media
    size    bytes
    index, number  the sample that shows it, and which of its media it is
    """

    name: Medium
    size: int
    index: int
    number: int

    def fetch(self, dataset: Dataset) -> Medium:
        """The medium itself."""
        if isinstance(source_of(self.name), bytes):
            return dataset.entry(self.index)[0][self.number]
        return self.name

    def digest(self) -> bytes:
        """SHA-256 of the encoded bytes."""
        source = source_of(self.name)
        return source if isinstance(source, bytes) else _digest(source)


@dataclass(frozen=True)
class Scanned:
    """One sound sample.

    media     its pictures and clips
    key       hash of its turns and its media's sizes: samples of equal content have equal keys
    answered  whether it has an answer to learn from
    words     of its questions and answers
    """

    index: int
    media: tuple[Seen, ...]
    key: bytes
    answered: bool
    words: int


@dataclass
class Scan:
    """A data set's samples, sound and faulty."""

    samples: list[Scanned] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def media(self) -> list[Seen]:
        """Every medium once, in the order of the samples."""
        found: dict[Medium, Seen] = {}
        for sample in self.samples:
            for seen in sample.media:
                found.setdefault(seen.name, seen)
        return list(found.values())


def scan(dataset: Dataset, indices: range, on_step: Callable[[], None]) -> Scan:
    """Read every row, and ask for every file's size."""
    found = Scan()
    for index in indices:
        try:
            media, turns = dataset.entry(index)
            seen = tuple(_seen(medium, index, number) for number, medium in enumerate(media))
        except TROUBLE as error:
            found.faults.append(fault(dataset, index, one_line(error)))
        else:
            found.samples.append(_scanned(index, seen, turns))
        on_step()
    return found


def fault(dataset: Dataset, index: int, reason: str) -> Fault:
    where = dataset.where(index)
    return Fault(index, where, reason.removeprefix(f"{where}: "))


def _scanned(index: int, media: tuple[Seen, ...], turns: tuple[Turn, ...]) -> Scanned:
    texts = [text or "" for turn in turns for text in (turn.question, turn.answer)]
    shown = [(seen.size, *_part(seen.name)) for seen in media]
    key = sha256(repr((texts, shown)).encode(errors="surrogatepass")).digest()[:16]
    return Scanned(index, media, key, any((turn.answer or "").strip() for turn in turns),
                   sum(len(text.split()) for text in texts))


def source_of(medium: Medium) -> Picture:
    return medium.source if isinstance(medium, Clip) else medium


def _part(medium: Medium) -> tuple:
    return (medium.frames, medium.start, medium.end) if isinstance(medium, Clip) else ()


def _seen(medium: Medium, index: int, number: int) -> Seen:
    """Raises UserError where there is no such file."""
    source = source_of(medium)
    if isinstance(source, bytes):
        digest = sha256(source).digest()
        return Seen(replace(medium, source=digest) if isinstance(medium, Clip) else digest, len(source), index, number)
    try:
        return Seen(medium, stat(source).st_size, index, number)
    except OSError as error:
        raise UserError(f"no file at {source}: {error.strerror}") from None


def count_duplicates(dataset: Dataset, samples: Iterable[Scanned]) -> int:
    """How many samples repeat an earlier one, picture for picture and word for word.

    Only those that agree in text and sizes are read.
    """
    groups: dict[bytes, list[int]] = defaultdict(list)
    for sample in samples:
        groups[sample.key].append(sample.index)
    alike = [index for group in groups.values() if len(group) > 1 for index in group]
    with ThreadPoolExecutor(THREADS) as pool:
        ids = [one for one in pool.map(lambda index: _id(dataset, index), alike) if one]
    return len(ids) - len(set(ids))


def _id(dataset: Dataset, index: int) -> str | None:
    try:
        return dataset[index].id
    except TROUBLE:  # gone since, or half a character: the dump says so
        return None


def count_known(samples: Iterable[Scanned], known: Iterable[Scanned]) -> int:
    """How many samples show a picture or clip that one of `known` shows, or have its very words where they show none.

    Only files of equal size are read.
    """
    by_size: dict[int, dict[Medium, Seen]] = defaultdict(dict)
    keys = set()
    for sample in known:
        keys.add(sample.key)
        for seen in sample.media:
            by_size[seen.size].setdefault(seen.name, seen)
    digests: dict[int, set[bytes]] = {}

    def is_known(seen: Seen) -> bool:
        if seen.size not in digests:
            digests[seen.size] = {one.digest() for one in by_size.get(seen.size, {}).values()}
        return bool(digests[seen.size]) and seen.digest() in digests[seen.size]

    return sum(any(is_known(seen) for seen in sample.media) if sample.media else sample.key in keys
               for sample in samples)


def _digest(source: Picture) -> bytes:
    return sha256(picture_bytes(source)).digest()
