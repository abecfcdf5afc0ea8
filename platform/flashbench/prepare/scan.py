"""What a data set's index tells, and which of its files are there. It decodes nothing and knows no stage."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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
class Scanned:
    """One sound sample.

    media     its pictures and clips
    key       hash of its turns and its media's sizes: samples of equal content have equal keys
    answered  whether it has an answer to learn from
    words     of its questions and answers
    """

    index: int
    media: tuple[Medium, ...]
    key: bytes
    answered: bool
    words: int


@dataclass
class Scan:
    """A data set's samples, sound and faulty."""

    samples: list[Scanned] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def media(self) -> dict[Medium, int]:
        """Every medium -> the first sample that shows it."""
        found: dict[Medium, int] = {}
        for sample in self.samples:
            for medium in sample.media:
                found.setdefault(medium, sample.index)
        return found


def scan(dataset: Dataset, indices: range, on_step: Callable[[], None]) -> Scan:
    """Read every row, and ask for every file's size."""
    found = Scan()
    for index in indices:
        try:
            media, turns = dataset.entry(index)
            sizes = [media_size(medium) for medium in media]
        except TROUBLE as error:
            found.faults.append(fault(dataset, index, one_line(error)))
        else:
            found.samples.append(_scanned(index, media, turns, sizes))
        on_step()
    return found


def fault(dataset: Dataset, index: int, reason: str) -> Fault:
    where = dataset.where(index)
    return Fault(index, where, reason.removeprefix(f"{where}: "))


def _scanned(index: int, media: tuple[Medium, ...], turns: tuple[Turn, ...], sizes: list[int]) -> Scanned:
    texts = [text or "" for turn in turns for text in (turn.question, turn.answer)]
    shown = [(medium.frames, medium.start, medium.end) if isinstance(medium, Clip) else None for medium in media]
    key = sha256(repr((texts, sizes, shown)).encode(errors="surrogatepass")).digest()[:16]
    return Scanned(index, media, key, any((turn.answer or "").strip() for turn in turns),
                   sum(len(text.split()) for text in texts))


def source_of(medium: Medium) -> Picture:
    return medium.source if isinstance(medium, Clip) else medium


def media_size(medium: Medium) -> int:
    """Bytes. Raises UserError where there is no such file."""
    source = source_of(medium)
    if isinstance(source, bytes):
        return len(source)
    try:
        return stat(source).st_size
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
    by_size: dict[int, set[Picture]] = defaultdict(set)
    keys = set()
    for sample in known:
        keys.add(sample.key)
        for medium in sample.media:
            by_size[media_size(medium)].add(source_of(medium))
    digests: dict[int, set[bytes]] = {}

    def is_known(medium: Medium) -> bool:
        size = media_size(medium)
        if size not in digests:
            digests[size] = {_digest(source) for source in by_size.get(size, ())}
        return bool(digests[size]) and _digest(source_of(medium)) in digests[size]

    return sum(any(is_known(medium) for medium in sample.media) if sample.media else sample.key in keys
               for sample in samples)


def _digest(source: Picture) -> bytes:
    return sha256(picture_bytes(source)).digest()
