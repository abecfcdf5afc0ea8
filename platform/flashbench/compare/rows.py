"""Reading a Parquet file of benchmark rows, one per prompt × method × repeat.

The file may be anybody's: every column and every value that is used is checked.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flashbench.compare.results import Prompt, Result, Series, check_span
from specflash.errors import UserError, one_line
from specflash.metrics import DECODE, E2E, Row

LONGEST_REASON = 200
NEEDED = ("task", "sample", "method", "committed", "seconds")
TYPES = {
    "task": pa.string(), "sample": pa.string(), "method": pa.string(), "committed": pa.list_(pa.int64()),
    "seconds": pa.struct([(phase, pa.float64()) for phase in E2E.phases]),
    "target": pa.string(), "temperature": pa.float64(), "repeat": pa.int64(), "ids": pa.list_(pa.int64()),
    "text": pa.string(), "finish": pa.string()}
"""Of the columns that are used; those that are not needed may be absent."""


def read_rows(path: Path, name: str, temperature: float | None = None) -> Result:
    """Raises UserError for whatever is no table of rows.

    temperature  of rows that do not tell their own
    """
    result = Result(name)
    for number, row in enumerate(_rows(path), start=1):
        try:
            _add(row, result, temperature)
        except ValueError as error:
            raise UserError(f"{path}, row {number} ({row['task']}/{row['sample']}, {row['method']}): {error}") from None
    if not result.series:
        raise UserError(f"{path} has no rows")
    return result


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path} is no Parquet file that can be read: {one_line(error)[:LONGEST_REASON]}") from None
    missing = [name for name in NEEDED if name not in table.column_names]
    if missing:
        raise UserError(f"{path} holds no benchmark rows: it has no column `{missing[0]}`")
    return pa.table({name: _cast(path, name, table.column(name))
                     for name in TYPES if name in table.column_names}).to_pylist()


def _cast(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in the type that is expected; what holds the same values in another type will do."""
    if name == "seconds" and pa.types.is_struct(column.type):
        phases = {column.type.field(place).name for place in range(column.type.num_fields)}
        lacking = [phase for phase in E2E.phases if phase not in phases]
        if lacking:
            raise UserError(f"{path} holds no benchmark rows: its column `seconds` has no `{lacking[0]}`")
    try:
        return column.cast(TYPES[name])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UserError(f"{path} holds no benchmark rows: its column `{name}` is {column.type}, "
                        f"not {TYPES[name]}") from None


def _add(row: dict[str, Any], result: Result, temperature: float | None) -> None:
    empty = [name for name in NEEDED if row[name] is None]
    if empty:
        raise ValueError(f"`{empty[0]}` is empty")
    if None in row["committed"]:
        raise ValueError("`committed` has an empty place")
    account = Row(f"{row['task']}/{row['sample']}", (), (), row["committed"], row["seconds"])
    check_span(list(account.seconds.values()), account.tokens)
    own = row.get("temperature")
    series = Series(row["method"], row.get("target"), temperature if own is None else own)
    prompt = result.prompt(series, account.prompt)
    repeat = row.get("repeat") or 0
    if repeat in prompt.spans.get("e2e", {}):
        raise ValueError(f"repeat {repeat} of this prompt is in the file twice")
    _record(prompt, repeat, account, row)


def _record(prompt: Prompt, repeat: int, account: Row, row: dict[str, Any]) -> None:
    prompt.spans.setdefault("e2e", {})[repeat] = account.within(E2E)
    # An outside control has all its time in `other`: what its decoding took is not known.
    seconds, tokens = account.within(DECODE)
    if tokens and seconds and account.seconds["prefill"]:
        prompt.spans.setdefault("decode", {})[repeat] = seconds, tokens
    if row.get("ids") is not None:
        prompt.ids[repeat] = tuple(row["ids"])
    if row.get("text") is not None:
        prompt.texts[repeat] = row["text"]
    prompt.longest = max(prompt.longest, account.tokens)
    if row.get("finish") == "length":
        prompt.limit = max(prompt.limit, account.tokens)
