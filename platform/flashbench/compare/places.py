"""From what a user names to a result: a run folder, a Parquet file, an answer file, a run in MLflow.

It knows where things lie and what they look like from outside; what is in them is read elsewhere.
"""

import tempfile
from pathlib import Path

from flashbench.compare.answers import read_answers
from flashbench.compare.conditions import conditions_of, read_summary, temperature_of
from flashbench.compare.results import Result
from flashbench.compare.rows import read_rows
from flashbench.compare.tracked import download, is_tracked
from specflash.errors import UserError

PARQUET_BEGINS = b"PAR1"
EXPECTED = "expected a run folder, a .parquet file of rows, a .jsonl answer file or mlflow:RUN_ID"


def read_result(path: Path) -> Result:
    """Raises UserError for whatever is not a result."""
    if is_tracked(str(path)):
        with tempfile.TemporaryDirectory() as folder:
            tracked = download(str(path), Path(folder))
            return tracked.part_of(_read_table(tracked.rows, str(path), tracked.summary))
    if path.is_dir():
        return _read_folder(path)
    if not path.is_file():
        raise UserError(f"no result at {path}: {EXPECTED}")
    return _read_file(path)


def _read_folder(path: Path) -> Result:
    for rows, summary in ((path / "bench" / "rows.parquet", path / "summary.json"),
                          (path / "rows.parquet", path.parent / "summary.json")):
        if rows.is_file():
            return _read_table(rows, str(path), summary)
    raise UserError(f"no bench/rows.parquet in {path}; run `specflash bench` there first")


def _read_file(path: Path) -> Result:
    with path.open("rb") as file:
        begins = file.read(len(PARQUET_BEGINS))
    if not begins:
        raise UserError(f"{path} is empty")
    if begins == PARQUET_BEGINS:
        return _read_table(path, str(path), path.parent.parent / "summary.json")
    if path.suffix == ".parquet":
        raise UserError(f"{path} is no Parquet file")
    if path.suffix in (".jsonl", ".json"):
        return read_answers(path)
    raise UserError(f"{path} is no result: {EXPECTED}")


def _read_table(rows: Path, name: str, summary: Path) -> Result:
    """summary  of the run that the rows are of, if it is there"""
    known = read_summary(summary)
    result = read_rows(rows, name, temperature_of(known))
    result.conditions = conditions_of(known)
    return result
