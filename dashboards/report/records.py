"""The finished records of a run folder, as the report reads them. It knows no model and runs nothing."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dashboards.report.lines import Record, placed, temperature


@dataclass(frozen=True)
class RunRecords:
    """What a run folder holds.

    summary   summary.json
    rows      bench/rows.parquet, one per prompt × method × repeat
    pictures  bench/pictures.json: (task/sample) -> data URL, for the prompts that are shown
    verdict   verify.json of all targets, None where one was not verified
    training  draft -> its curves, one record per epoch
    """

    summary: Record
    rows: list[Record]
    pictures: dict[str, str]
    verdict: Record | None
    training: dict[str, list[Record]]

    @cached_property
    def lines(self) -> list[Record]:
        """Of the summary: one per task × method (× target × temperature)."""
        return placed(self.summary, "rows")

    @cached_property
    def overall(self) -> list[Record]:
        """The same over all tasks in domain."""
        return placed(self.summary, "overall")

    @property
    def methods(self) -> list[str]:
        """In the order of the summary, vanilla first."""
        return list(dict.fromkeys(row["method"] for row in self.summary["rows"]))


def read_run(folder: Path) -> RunRecords:
    """Raises FileNotFoundError where the benchmark has not been finished."""
    summary = _json(folder / "summary.json")
    rows = [{"temperature": temperature(summary)} | row
            for row in pq.read_table(folder / "bench" / "rows.parquet").to_pylist()]
    drafts = dict.fromkeys(row["method"] for row in summary["rows"])
    curves = {name: folder / "drafts" / name / "training.json" for name in drafts}
    pictures = _json(folder / "bench" / "pictures.json")
    return RunRecords(summary, rows, {key: url for key, url in pictures.items() if url.startswith("data:image/")},
                      _verdict(folder, summary), _curves(curves))


def _verdict(folder: Path, summary: Record) -> Record | None:
    """Of all targets together, a further one's drafts as the summary names them; None where one was not verified."""
    runs = {"": folder, **{f"{target}/": folder / run for target, run in summary.get("runs", {}).items()}}
    paths = {prefix: run / "verify.json" for prefix, run in runs.items()}
    if not all(path.exists() for path in paths.values()):
        return None
    found = {prefix: _json(path) for prefix, path in paths.items()}
    first, *others = found.values()
    joined = {key: [*value, *(each for other in others for each in other.get(key, []))]
              for key, value in first.items() if isinstance(value, list)}
    drafts = {prefix + name: weights for prefix, one in found.items()
              for name, weights in one.get("fingerprint", {}).get("drafts", {}).items()}
    return first | joined | {"lossless": all(one["lossless"] for one in found.values()),
                             "fingerprint": first.get("fingerprint", {}) | {"drafts": drafts}}


def _curves(paths: dict[str, Path]) -> dict[str, list[Record]]:
    """Those of the drafts that were trained here, and for at least one epoch."""
    found = {name: _json(path)["curves"] for name, path in paths.items() if path.exists()}
    return {name: epochs for name, epochs in found.items() if epochs}


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
