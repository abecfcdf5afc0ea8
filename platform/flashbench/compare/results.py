"""A result to compare: per method, window and prompt, the seconds it took and the tokens it gave.

Read from a run folder, a Parquet file of rows, or an answer file. It judges nothing, and loads no model.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flashbench.bench.rows import asked
from flashbench.compare.answers import read_answers
from specflash.errors import UserError
from specflash.metrics import DECODE, E2E, Row

COLUMNS = ("task", "sample", "method", "kept", "drafted", "committed", "seconds")
LABELS = ("target", "temperature")
"""Where they are there, they tell apart what was asked several times."""
Windows = dict[str, dict[str, np.ndarray]]
"""window ("decode", "e2e") -> prompt -> [seconds, tokens]"""


@dataclass
class Result:
    """Repeats of a prompt are added up. A window without a measured prompt is absent."""

    name: str
    methods: dict[str, Windows] = field(default_factory=dict)

    def add(self, method: str, window: str, prompt: str, seconds: float, tokens: int) -> None:
        prompts = self.methods.setdefault(method, {}).setdefault(window, {})
        prompts[prompt] = prompts.get(prompt, np.zeros(2)) + (seconds, tokens)


def read_result(path: Path) -> Result:
    """Raises UserError for whatever is not a result."""
    if path.is_dir():
        rows = path / "bench" / "rows.parquet"
        if not rows.is_file():
            raise UserError(f"no bench/rows.parquet in {path}; run `specflash bench` there first")
        return _read_rows(rows, str(path))
    if not path.is_file():
        raise UserError(f"no result at {path}")
    if path.suffix == ".parquet":
        return _read_rows(path, str(path))
    if path.suffix == ".jsonl":
        return _read_answer_file(path)
    raise UserError(f"{path} is no result: expected a run folder, a .parquet file of rows or a .jsonl answer file")


def _read_rows(path: Path, name: str) -> Result:
    result, rows = Result(name), _rows(path)
    several = len({row.get("target") for row in rows}) > 1
    for row in rows:
        prompt = f"{row['target']}/{asked(row)}" if several else asked(row)
        account = Row(prompt, row["kept"], row["drafted"], row["committed"], row["seconds"])
        result.add(row["method"], "e2e", account.prompt, *account.within(E2E))
        # The outside control has all its time in `other`: what its decoding took is not known.
        if account.decode_tokens and account.seconds["prefill"]:
            result.add(row["method"], "decode", account.prompt, *account.within(DECODE))
    if not result.methods:
        raise UserError(f"{path} has no rows")
    return result


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path} is no Parquet file: {str(error).splitlines()[0]}") from None
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise UserError(f"{path} holds no benchmark rows: it has no column `{missing[0]}`")
    return table.select([*COLUMNS, *(name for name in LABELS if name in table.column_names)]).to_pylist()


def _read_answer_file(path: Path) -> Result:
    result = Result(str(path))
    for answer in read_answers(path):
        result.add(answer.method, "e2e", answer.prompt, answer.seconds, answer.tokens)
    if not result.methods:
        raise UserError(f"{path} has no answers")
    return result
