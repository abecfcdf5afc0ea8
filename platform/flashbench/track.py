"""What goes to MLflow: one run per training, one per comparison with a child per task and method.

It computes nothing: every figure is copied from a finished record. A write that fails is tried
again, then given up and reported; it never stops the work that was measured.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from flashbench.fingerprint import digest
from flashbench.settings import Settings

if TYPE_CHECKING:
    from mlflow import MlflowClient

TRIES = 3
SECONDS_BEFORE_RETRY = 0.2
RESULT_TAG = "specflash.result"
HEADLINES = ("accept_length", "speedup_decode", "speedup_e2e", "identical_share",
             "ttft_ms", "tpot_ms", "output_tps")

Done = TypeVar("Done")


class Tracker:
    """An MLflow experiment that remembers what could not be written to it.

    lost  one line per write that was given up
    """

    def __init__(self, settings: Settings):
        os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
        self.lost: list[str] = []
        self._settings = settings
        self._client: MlflowClient | None = None
        self._experiment: str | None = None

    def log_once(self, name: str, result: str, fill: Callable[["Run"], None],
                 tags: Mapping[str, str]) -> None:
        """Create the run `name` and fill it, unless a finished run holds this result already.

        result  hash of what the run reports: the same result is never logged twice
        """
        run_id = self._attempt(f"create {name}", lambda: self._create_missing(name, {**tags, RESULT_TAG: result}))
        if run_id is None:
            return
        before = len(self.lost)
        fill(Run(self, name, run_id))
        status = "FINISHED" if len(self.lost) == before else "FAILED"
        self._attempt(f"close {name}", lambda: self.client.set_terminated(run_id, status))

    @property
    def client(self) -> "MlflowClient":
        if self._client is None:
            from mlflow import MlflowClient
            uri = tracking_uri(self._settings)
            if uri.startswith("sqlite:///"):
                Path(uri.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
            self._client = MlflowClient(tracking_uri=uri)
        return self._client

    def _attempt(self, what: str, action: Callable[[], Done]) -> Done | None:
        from alembic.util.exc import CommandError
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError
        for attempt in range(TRIES):
            try:
                return action()
            except (MlflowException, SQLAlchemyError, CommandError, OSError) as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                time.sleep(SECONDS_BEFORE_RETRY * 2**attempt)
        self.lost.append(f"{what}: {reason}")
        return None

    def _create_missing(self, name: str, tags: dict[str, str]) -> str | None:
        """A new run's id; None where a finished run has this result."""
        query = f"tags.`{RESULT_TAG}` = '{tags[RESULT_TAG]}' and attributes.status = 'FINISHED'"
        if self.client.search_runs([self._experiment_id()], query, max_results=1):
            return None
        return self.client.create_run(self._experiment_id(), run_name=name, tags=tags).info.run_id

    def _experiment_id(self) -> str:
        """The experiment's id; a new local one keeps its artifacts inside the run folder."""
        if self._experiment is None:
            name = self._settings.track.experiment
            known = self.client.get_experiment_by_name(name)
            local = tracking_uri(self._settings).startswith("sqlite:")
            place = (self._settings.run / "mlartifacts").resolve().as_uri() if local else None
            self._experiment = known.experiment_id if known else self.client.create_experiment(name, place)
        return self._experiment


class Run:
    """One MLflow run that is being filled."""

    def __init__(self, tracker: Tracker, name: str, run_id: str):
        self._tracker, self.name, self.run_id = tracker, name, run_id

    def params(self, params: Mapping[str, Any]) -> None:
        from mlflow.entities import Param
        batch = [Param(key, str(value)) for key, value in params.items()]
        self._write("parameters", lambda client: client.log_batch(self.run_id, params=batch))

    def metrics(self, metrics: Mapping[str, float | None], step: int = 0) -> None:
        from mlflow.entities import Metric
        now = int(time.time() * 1000)
        batch = [Metric(key, value, now, step) for key, value in metrics.items() if value is not None]
        self._write(f"metrics of step {step}", lambda client: client.log_batch(self.run_id, metrics=batch))

    def artifact(self, path: Path) -> None:
        self._write(path.name, lambda client: client.log_artifact(self.run_id, str(path)))

    def artifacts(self, folder: Path) -> None:
        self._write(folder.name, lambda client: client.log_artifacts(self.run_id, str(folder), folder.name))

    def table(self, columns: Mapping[str, Sequence[object]], name: str) -> None:
        self._write(name, lambda client: client.log_table(self.run_id, dict(columns), name))

    def _write(self, what: str, action: Callable[["MlflowClient"], object]) -> None:
        self._tracker._attempt(f"{self.name}: {what}", lambda: action(self._tracker.client))


def tracking_uri(settings: Settings) -> str:
    """The settings' own, else MLFLOW_TRACKING_URI, else a SQLite file inside the run folder."""
    own = f"sqlite:///{(settings.run / 'mlflow.db').resolve()}"
    return settings.track.uri or os.environ.get("MLFLOW_TRACKING_URI") or own


def log_training(settings: Settings, draft: str, curves: Sequence[Mapping[str, Any]]) -> list[str]:
    """One run of a draft's training; returns what could not be written (empty: all of it was).

    curves  one mapping per epoch: `epoch` (its step) and named metrics; a list becomes one metric
            per place, `slot_accuracy_0`, `slot_accuracy_1`, …
    """
    tracker = Tracker(settings)

    def fill(run: Run) -> None:
        run.params({"draft": draft, **settings.drafts.get(draft, {}), **settings.train.model_dump(mode="json")})
        for epoch in curves:
            run.metrics(_flat({key: value for key, value in epoch.items() if key != "epoch"}), epoch["epoch"])

    tags = {"kind": "training", "draft": draft, "experiment": settings.name}
    tracker.log_once(f"train {draft}", digest([settings.name, draft, curves]), fill, tags)
    return tracker.lost


def log_comparison(settings: Settings, summary: Mapping[str, Any], report: Path | None,
                   figures: Path | None) -> list[str]:
    """The comparison and its children; returns what could not be written.

    summary  what bench wrote to summary.json
    """
    tracker = Tracker(settings)
    result = str(summary["result"])
    tags = {"experiment": settings.name, "claim_level": str(summary["claim_level"]),
            "quotable": str(summary["quotable"]), "hardware": str(summary["fingerprint"]["machine"]["cpu"])}

    def fill(parent: Run) -> None:
        parent.params({**summary["conditions"], "commit": summary["fingerprint"]["code"]["commit"]})
        parent.table(_columns(summary["rows"]), "summary_table.json")
        for path in (settings.run / "summary.json", report):
            if path is not None:
                parent.artifact(path)
        if figures is not None:
            parent.artifacts(figures)
        for row in summary["rows"]:
            _log_child(tracker, parent.run_id, row, {**tags, "comparison": result})

    tracker.log_once(f"compare {settings.name}", digest([settings.name, result]), fill,
                     {**tags, "kind": "comparison"})
    return tracker.lost


def _log_child(tracker: Tracker, parent: str, row: Mapping[str, Any], tags: Mapping[str, str]) -> None:
    tags = {**tags, "mlflow.parentRunId": parent, "kind": "method", "task": str(row["task"]),
            "method": str(row["method"])}

    def fill(run: Run) -> None:
        run.params({key: row[key] for key in ("target", "task", "temperature", "method", "prompts", "tokens",
                                              "rounds")})
        positions = {f"acceptance_rate_pos{i}": rate for i, rate in enumerate(row["acceptance_by_position"])}
        run.metrics({**{key: row[key] for key in HEADLINES}, **positions})

    tracker.log_once(f"{row['label']} · {row['method']}", digest([tags["comparison"], parent, row]), fill, tags)


def _flat(values: Mapping[str, Any]) -> dict[str, float]:
    flat = {}
    for key, value in values.items():
        flat |= {f"{key}_{i}": part for i, part in enumerate(value)} if isinstance(value, list) else {key: value}
    return flat


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[object]]:
    """Rows as columns, for MLflow's table view; lists become text."""
    return {key: [row[key] if isinstance(row[key], (int, float, str, type(None))) else str(row[key])
                  for row in rows] for key in rows[0]}
