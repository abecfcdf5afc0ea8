"""A result that lies in MLflow: the rows and the summary among a comparison's artifacts.

`mlflow:RUN_ID` or `runs:/RUN_ID`; of a method's own run, the rows of that method, task, target and temperature.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flashbench.compare.results import Result, Series
from specflash.errors import UserError, one_line

FORMS = ("mlflow:", "runs:/")
ROWS, SUMMARY = "rows.parquet", "summary.json"


@dataclass(frozen=True)
class Tracked:
    """tags  of the run that was named"""

    rows: Path
    summary: Path
    tags: Mapping[str, str]

    def part_of(self, result: Result) -> Result:
        """What of the comparison's rows the named run is about."""
        if self.tags.get("kind") != "method":
            return result
        return Result(result.name, {
            series: {key: prompt for key, prompt in prompts.items() if key.startswith(f"{self.tags['task']}/")}
            for series, prompts in result.series.items() if self._holds(series)}, result.conditions)

    def _holds(self, series: Series) -> bool:
        return (series.method == self.tags["method"] and series.target in (None, self.tags["target"])
                and series.temperature in (None, float(self.tags["temperature"])))


def is_tracked(name: str) -> bool:
    return name.startswith(FORMS)


def download(name: str, folder: Path) -> Tracked:
    """Fetch a comparison's rows and summary into `folder`. Raises UserError where MLflow has none."""
    uri = os.environ.get("MLFLOW_TRACKING_URI")
    if not uri:
        raise UserError(f"{name}: export MLFLOW_TRACKING_URI first; that of a run folder is sqlite:///RUN/mlflow.db")
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError
    run_id = name.partition(":")[2].strip("/")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    try:
        client = MlflowClient(tracking_uri=uri)
        tags = client.get_run(run_id).data.tags
        parent = tags.get("mlflow.parentRunId", run_id)
        rows, summary = (Path(client.download_artifacts(parent, file, str(folder))) for file in (ROWS, SUMMARY))
    except (MlflowException, SQLAlchemyError, OSError) as error:
        raise UserError(f"{name}: no {ROWS} and {SUMMARY} of such a comparison in {uri} "
                        f"({one_line(error)[:200]})") from None
    return Tracked(rows, summary, tags)
