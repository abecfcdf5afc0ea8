"""The finished records of a run folder, as the report reads them. It knows no model and runs nothing."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Record = dict[str, Any]


@dataclass(frozen=True)
class RunRecords:
    """What a run folder holds.

    summary   summary.json
    rows      bench/rows.parquet, one per prompt × method × repeat
    pictures  bench/pictures.json: (task/sample) -> data URL, for the prompts that are shown
    verdict   verify.json, None where nothing was verified
    training  draft -> its curves, one record per epoch
    """

    summary: Record
    rows: list[Record]
    pictures: dict[str, str]
    verdict: Record | None
    training: dict[str, list[Record]]

    @property
    def methods(self) -> list[str]:
        """In the order of the summary, vanilla first."""
        return list(dict.fromkeys(row["method"] for row in self.summary["rows"]))


def read_run(folder: Path) -> RunRecords:
    """Raises FileNotFoundError where the benchmark has not been finished."""
    summary = _json(folder / "summary.json")
    rows = pq.read_table(folder / "bench" / "rows.parquet").to_pylist()
    verdict = folder / "verify.json"
    drafts = dict.fromkeys(row["method"] for row in summary["rows"])
    curves = {name: folder / "drafts" / name / "training.json" for name in drafts}
    return RunRecords(summary, rows, _json(folder / "bench" / "pictures.json"),
                      _json(verdict) if verdict.exists() else None,
                      {name: _json(path)["curves"] for name, path in curves.items() if path.exists()})


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
