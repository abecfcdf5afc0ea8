"""What is left to do: every sample of the source identified, the finished and repeated set aside.

It knows no target and no Ray. The store's index is the truth; ids are content hashes, so another
order, split or number of workers finds the same samples finished.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from flashbench.console import progress
from flashbench.dump.quarantine import Quarantined
from flashbench.dump.store import finished
from flashbench.settings import Settings
from specflash.data import Dataset
from specflash.errors import UserError, one_line

THREADS = 8
CHUNK = 1024


@dataclass
class Plan:
    """The source after the anti-join.

    todo  id of each unfinished sample -> its index
    ids   of all samples of the source, finished ones too
    """

    todo: dict[str, int] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    bad: list[Quarantined] = field(default_factory=list)
    skipped: int = 0
    duplicates: int = 0


def make_plan(settings: Settings, dataset: Dataset) -> Plan:
    """Identify every sample, and set aside the finished, the repeated and the unreadable."""
    plan, known = Plan(), finished(settings.dump_folder)
    with progress("identify samples", len(dataset)) as advance:
        for index, (sample, reason) in enumerate(_identities(dataset)):
            if reason is not None:
                plan.bad.append(Quarantined(source_name(settings), index, None, reason))
            else:
                _place(plan, sample, index, sample in known)
            advance()
    return plan


def _place(plan: Plan, sample: str, index: int, done: bool) -> None:
    if sample in plan.ids:
        plan.duplicates += 1
    elif done:
        plan.skipped += 1
    else:
        plan.todo[sample] = index
    plan.ids.add(sample)


def source_name(settings: Settings) -> str:
    return f"{settings.dump.source.dataset}:{settings.dump.source.split}"


def _identities(dataset: Dataset) -> Iterator[tuple[str | None, str | None]]:
    """(id, None) or (None, reason) of each sample in order.

    Reads and hashes the media and decodes nothing: waiting for files is most of it, and threads
    wait together. That is cheaper than starting processes, and a finished dump needs no Ray.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        for start in range(0, len(dataset), CHUNK):
            indices = range(start, min(start + CHUNK, len(dataset)))
            yield from pool.map(lambda index: _identity(dataset, index), indices)


def _identity(dataset: Dataset, index: int) -> tuple[str | None, str | None]:
    try:
        return dataset[index].id, None
    except (UserError, OSError, ValueError) as error:
        return None, one_line(error)
