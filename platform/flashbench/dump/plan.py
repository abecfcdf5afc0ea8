"""What is left to do: every sample of the source identified, the finished and repeated set aside.

It knows no target. The store's index is the truth; ids are content hashes, so another order,
split or number of workers finds the same samples finished.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import pyarrow as pa
import ray
from ray.data import TaskPoolStrategy

from flashbench.console import progress
from flashbench.dump.quarantine import Quarantined
from flashbench.dump.read import identify
from flashbench.dump.store import finished
from flashbench.settings import Settings

IDENTIFY_CHUNK = 64


@dataclass
class Plan:
    """The source after the anti-join. `todo` maps the id of each unfinished sample to its index."""

    todo: dict[str, int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    bad: list[Quarantined] = field(default_factory=list)
    skipped: int = 0
    duplicates: int = 0


def make_plan(settings: Settings, total: int) -> Plan:
    """Identify every sample, and set aside the finished, the repeated and the unreadable."""
    source, plan = settings.dump.source, Plan()
    indices = [{"index": index} for index in range(total)]
    identities = in_chunks(indices, IDENTIFY_CHUNK).map_batches(
        identify, fn_kwargs={"source": source}, batch_format="pyarrow", batch_size=IDENTIFY_CHUNK,
        compute=TaskPoolStrategy(size=settings.dump.decoders))
    known = finished(settings.dump_folder)
    rows = []
    with progress("identify samples", total) as advance:
        for row in identities.iter_rows():
            rows.append(row)
            advance()
    for row in sorted(rows, key=lambda row: row["index"]):  # rows arrive in any order
        _assign(row, plan, known.keys(), source_name(settings))
    return plan


def _assign(row: dict, plan: Plan, known: AbstractSet[str], source: str) -> None:
    if row["reason"] is not None:
        plan.bad.append(Quarantined(source, row["index"], None, row["reason"]))
        return
    if row["id"] in plan.seen:
        plan.duplicates += 1
    elif row["id"] in known:
        plan.skipped += 1
    else:
        plan.todo[row["id"]] = row["index"]
    plan.seen.add(row["id"])


def in_chunks(rows: list[dict], chunk: int) -> ray.data.Dataset:
    """One block per `chunk` rows, so that a call of an actor gets exactly one chunk."""
    return ray.data.from_arrow([pa.Table.from_pylist(rows[start:start + chunk])
                                for start in range(0, len(rows), chunk)])


def source_name(settings: Settings) -> str:
    return f"{settings.dump.source.dataset}:{settings.dump.source.split}"
