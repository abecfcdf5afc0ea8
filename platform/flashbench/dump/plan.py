"""What is left to do: every sample of the source identified, the finished and repeated set aside.

It knows no target and no Ray. What is finished is the truth; ids are content hashes, so another
order, split or number of workers finds the same samples finished.
"""

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from flashbench.console import progress
from flashbench.dump.quarantine import Quarantined
from flashbench.settings import Settings
from specflash.data import Dataset
from specflash.errors import UserError, one_line

THREADS = 8
CHUNK = 1024


@dataclass(frozen=True)
class _Identity:
    id: str
    media: int


@dataclass
class Plan:
    """The source after the anti-join.

    todo   id of each unfinished sample -> its index
    media  of each unfinished sample, something that is equal for equal media
    ids    of all samples of the source, finished ones too -> index
    """

    todo: dict[str, int] = field(default_factory=dict)
    media: dict[str, Hashable] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    bad: list[Quarantined] = field(default_factory=list)
    skipped: int = 0
    duplicates: int = 0


def make_plan(settings: Settings, dataset: Dataset, done: Container[str]) -> Plan:
    """Identify every sample, and set aside those that are `done`, the repeated and the unreadable."""
    plan = Plan()
    with progress("identify samples", len(dataset)) as advance:
        for index, found in enumerate(_identities(dataset)):
            if isinstance(found, str):
                plan.bad.append(Quarantined(source_name(settings), index, None, found))
            else:
                _place(plan, found, index, found.id in done)
            advance()
    return plan


def _place(plan: Plan, sample: _Identity, index: int, done: bool) -> None:
    if sample.id in plan.ids:
        plan.duplicates += 1
        return
    plan.ids[sample.id] = index
    if done:
        plan.skipped += 1
    else:
        plan.todo[sample.id], plan.media[sample.id] = index, sample.media


def pieces(samples: Iterable[str], media: Mapping[str, Hashable], at_most: int) -> list[list[str]]:
    """The samples in pieces of work of up to `at_most`, those of the same media together where they fit.

        media  a b a c a d    at most 4    ->    a a a b | c d
    """
    groups: dict[Hashable, list[str]] = {}
    for sample in samples:
        groups.setdefault(media[sample], []).append(sample)
    cut: list[list[str]] = [[]]
    for group in groups.values():
        for start in range(0, len(group), at_most):
            part = group[start:start + at_most]
            if len(cut[-1]) + len(part) > at_most:
                cut.append([])
            cut[-1] += part
    return [piece for piece in cut if piece]


def source_name(settings: Settings) -> str:
    return settings.dump.source.name


def _identities(dataset: Dataset) -> Iterator[_Identity | str]:
    """Who each sample is, or why it cannot be read, in order.

    Reads and hashes the media and decodes nothing: waiting for files is most of it, and threads
    wait together. That is cheaper than starting processes, and a finished dump needs no Ray.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        for start in range(0, len(dataset), CHUNK):
            indices = range(start, min(start + CHUNK, len(dataset)))
            yield from pool.map(lambda index: _identity(dataset, index), indices)


def _identity(dataset: Dataset, index: int) -> _Identity | str:
    try:
        sample = dataset[index]
        # Of the same file, or of the same bytes: whether they are the same to the target is found out there.
        return _Identity(sample.id, hash(sample.media))
    except (UserError, OSError, ValueError) as error:
        return one_line(error)
