"""One entry → one MLflow run. A write that fails is tried again a few times; what still fails is told.

A run is found by its entry's key: an entry that was written in part is completed, never doubled.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from alembic.util.exc import CommandError
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from flashbench.settings import Settings
from flashbench.track.entry import LONGEST_TAG, Entry, cut
from flashbench.track.store import artifact_place, tracking_uri
from flashbench.track.view import view_link, view_of
from specflash.errors import one_line

logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # not that it makes its tables

TRIES = 3
SECONDS_BEFORE_RETRY = 0.2
MOST_POINTS = 1000
LONGEST_REASON = 200
RESULT_TAG = "specflash.result"
STORE_ERRORS = (MlflowException, SQLAlchemyError, CommandError, OSError, ImportError)
"""What a store may answer, ours or a server's; an ImportError where the driver of its database is missing."""

Done = TypeVar("Done")


class StoreAway(Exception):
    """No run can be found or made: nothing else is worth trying."""


class Writer:
    """Writes to the settings' experiment, which is made where it is missing."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._client = MlflowClient(tracking_uri=tracking_uri(settings))
        self._experiment_id: str | None = None

    def write(self, entry: Entry, give_up_at: float) -> list[str]:
        """Returns one line per part that MLflow did not take; the run is closed as FAILED then, unless it goes on.

        give_up_at  on the monotonic clock, from when on nothing is tried again

        Raises StoreAway.
        """
        attempt = _Attempts(give_up_at)
        place = attempt.of("the run", lambda: self._place(entry))
        if place is None:
            raise StoreAway(f"{entry.name}: {attempt.failed[0]}")
        run_id, finished = place
        if finished:
            return []
        for what, action in self._parts(entry, run_id):
            attempt.of(what, action)
        if not entry.open:
            status = "FAILED" if attempt.failed else "FINISHED"
            end = entry.at + round(1000 * entry.seconds)
            attempt.of("its end", lambda: self._client.set_terminated(run_id, status, end))
        return [f"{entry.name}: {line}" for line in attempt.failed]

    def _parts(self, entry: Entry, run_id: str) -> Iterator[tuple[str, Callable[[], object]]]:
        client = self._client
        params = [Param(*pair) for pair in entry.params.items()]
        yield "parameters", lambda: client.log_batch(run_id, params=params, synchronous=True)
        points = [Metric(name, value, entry.at, step) for name, value, step in entry.points]
        for first in range(0, len(points), MOST_POINTS):
            batch = points[first:first + MOST_POINTS]
            yield "metrics", lambda batch=batch: client.log_batch(run_id, metrics=batch, synchronous=True)
        yield "tags", lambda: client.log_batch(run_id, tags=[*self._tags(entry)], synchronous=True)
        for name, table in entry.tables.items():
            yield name, lambda name=name, table=table: client.log_text(run_id, json.dumps(table), name)
        for attachment in entry.attachments:
            yield Path(attachment.path).name, lambda path=Path(attachment.path): self._attach(run_id, path)
        if entry.tags["kind"] == "comparison":
            for tag in view_of(entry.key).items():
                yield "the view", lambda tag=tag: client.set_experiment_tag(self._experiment(), *tag)

    def _tags(self, entry: Entry) -> Iterator[RunTag]:
        """The entry's own once more, for they may have changed since its run was made; and what only MLflow knows."""
        yield from (RunTag(*pair) for pair in entry.tags.items())
        if entry.note:
            yield RunTag("mlflow.note.content", cut(self._note(entry), LONGEST_TAG))
        if entry.tables:
            # By this the UI knows them for tables; the library's `log_table` cuts numbers to ten digits.
            tables = [{"path": name, "type": "table"} for name in entry.tables]
            yield RunTag("mlflow.loggedArtifacts", json.dumps(tables))
        training = entry.draft and self._find(f"tags.draft_fingerprint = '{entry.draft}' and tags.kind = 'training'")
        if training:
            yield RunTag("training_run", training.info.run_id)

    def _note(self, entry: Entry) -> str:
        if entry.tags["kind"] != "comparison":
            return entry.note
        return f"[All methods side by side]({view_link(self._experiment(), entry.key)})\n\n{entry.note}"

    def _attach(self, run_id: str, path: Path) -> None:
        if path.is_dir():
            self._client.log_artifacts(run_id, str(path), path.name)
        else:
            self._client.log_artifact(run_id, str(path))

    def _place(self, entry: Entry) -> tuple[str, bool]:
        """The entry's run id, made where there is none yet, and whether that run is finished."""
        run = self._of_key(entry.key) or self._client.create_run(
            self._experiment(), entry.at, self._first_tags(entry), entry.name)
        return run.info.run_id, run.info.status == "FINISHED"

    def _first_tags(self, entry: Entry) -> dict[str, str]:
        parent = entry.parent and self._of_key(entry.parent)
        return {**entry.tags, RESULT_TAG: entry.key, **({"mlflow.parentRunId": parent.info.run_id} if parent else {})}

    def _of_key(self, key: str) -> Run | None:
        return self._find(f"tags.`{RESULT_TAG}` = '{key}'")

    def _find(self, query: str) -> Run | None:
        """The latest run of the experiment that the query is true of."""
        found = self._client.search_runs([self._experiment()], query, max_results=1)
        return found[0] if found else None

    def _experiment(self) -> str:
        if self._experiment_id is None:
            name = self._settings.track.experiment
            known = self._client.get_experiment_by_name(name)
            self._experiment_id = known.experiment_id if known else self._client.create_experiment(
                name, artifact_place(self._settings))
        return self._experiment_id


class _Attempts:
    """Actions, each tried a few times. What failed for good is in `failed`, one line each."""

    def __init__(self, give_up_at: float):
        self._give_up_at = give_up_at
        self.failed: list[str] = []

    def of(self, what: str, action: Callable[[], Done]) -> Done | None:
        reason = "no time was left"
        for attempt in range(TRIES):
            if time.monotonic() > self._give_up_at:
                break
            try:
                return action()
            except STORE_ERRORS as error:
                reason = one_line(error)[:LONGEST_REASON]
                time.sleep(SECONDS_BEFORE_RETRY * 2**attempt)
        self.failed.append(f"{what}: {reason}")
        return None
