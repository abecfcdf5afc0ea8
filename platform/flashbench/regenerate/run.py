"""The regeneration: every question of a source answered by the target, as files of a data set.

    samples -> identify -> ids | anti-join with the journal | unanswered -> pool of Answerers -> journal -> files

A kill costs the pieces that were being answered. It knows no target family and no data set.
"""

import json
import time
from contextlib import closing

from flashbench.console import note
from flashbench.dump.account import Account
from flashbench.dump.plan import Plan, make_plan, pieces, source_name
from flashbench.dump.pool import run_pool
from flashbench.dump.quarantine import Quarantined, check_budget, write_quarantine
from flashbench.dump.read import open_source
from flashbench.dump.rows import STORED
from flashbench.fingerprint import digest
from flashbench.journal import Journal
from flashbench.lock import sole_writer
from flashbench.regenerate.answer import Answerer, temperature_of
from flashbench.regenerate.files import entry_of, write_entries
from flashbench.settings import Settings, save_settings
from specflash.data import Dataset
from specflash.errors import UserError
from specflash.targets import target_fingerprint


def run_regenerate(settings: Settings) -> Account:
    """Answer what is not answered yet, and write all answers. Running it again continues.

    Raises UserError for an unusable source, when the disk is full, and when too many samples are bad;
    what is answered is kept in every case.
    """
    settings = settings.placed()
    settings = settings.model_copy(update={"dump": settings.dump.model_copy(update={"answers": "target"})})
    folder, started = settings.regenerated_folder, time.monotonic()
    dataset = open_source(settings.dump)
    if len(dataset) == 0:
        raise UserError(f"{source_name(settings)} holds no samples: choose another `dump.source`")
    with sole_writer(folder, "regeneration"):
        save_settings(settings, folder / "settings.yaml")
        answered = Answered(settings)
        plan = make_plan(settings, dataset, answered)
        bad = plan.bad + (_answer(settings, plan, answered) if plan.todo else [])
        write_quarantine(folder, source_name(settings), bad)
        files = write_entries(folder, settings.dump.source.split, _entries(settings, dataset, plan, answered))
    check_budget(bad, len(dataset), settings.dump.error_budget, folder)
    written = len(plan.todo) - (len(bad) - len(plan.bad))
    account = Account(total=len(dataset), written=written, skipped=plan.skipped, duplicates=plan.duplicates,
                      quarantined=len(bad), seconds=time.monotonic() - started)
    note(f"{account} in {files[0]} and {files[1].name}")
    return account


class Answered:
    """The journal of answers; a sample is in it when it was answered under the present conditions."""

    def __init__(self, settings: Settings):
        target, dump = settings.target, settings.dump
        self._journal = Journal(settings.regenerated_folder / "journal.jsonl")
        self._settings = settings.regenerate
        self._conditions = {"target": target_fingerprint(target.name, target.weights), "dtype": target.dtype,
                            "max_new_tokens": dump.max_new_tokens, "max_length": dump.max_length}

    def __contains__(self, sample: str) -> bool:
        return self._journal.find(sample, self._fingerprint(sample)) is not None

    def add(self, sample: str, answer: dict) -> None:
        """Make an answer durable. Raises DiskFull."""
        self._journal.add({"key": sample, "fingerprint": self._fingerprint(sample),
                           "temperature": temperature_of(sample, self._settings), **answer})

    def __getitem__(self, sample: str) -> dict:
        return self._journal.get(sample, self._fingerprint(sample))

    def _fingerprint(self, sample: str) -> str:
        """Of all that this sample's answer follows from: a greedy one depends on no seed."""
        temperature = temperature_of(sample, self._settings)
        drawn = {"temperature": temperature, "seed": self._settings.seed if temperature else None}
        return digest(self._conditions | drawn)


def _answer(settings: Settings, plan: Plan, answered: Answered) -> list[Quarantined]:
    """Have the unanswered samples answered; returns the bad ones."""
    bad, dump = [], settings.dump
    work = pieces(plan.todo, plan.media, dump.batch)
    with closing(run_pool(settings, work, plan.todo, Answerer, f"answer {dump.source.name}")) as rows:
        for row in rows:
            if row["outcome"] == STORED:
                answered.add(row["id"], json.loads(row["answer"]))
            else:
                bad.append(Quarantined(source_name(settings), row["index"], row["id"], row["reason"]))
    return bad


def _entries(settings: Settings, dataset: Dataset, plan: Plan, answered: Answered) -> list[dict]:
    """In the order of the source."""
    return [entry_of(settings.regenerated_folder, sample, dataset.entry(index)[0], answered[sample])
            for sample, index in plan.ids.items() if sample in answered]
