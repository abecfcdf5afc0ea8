"""Reading results of every kind: what a good one holds, and how a bad one is told in one line."""

import math
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flashbench.bench.answers import write_answers
from flashbench.cli import main
from flashbench.compare.places import read_result
from flashbench.compare.results import Series
from specflash.errors import UserError
from tests.flashbench.compare.results import jsonl, many, parquet, spans
from tests.flashbench.scripted import scripted_rows, scripted_run

AT = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_run_folder_and_its_rows_are_the_same_result(tmp_path):
    scripted_run(tmp_path)
    folder, file = (read_result(path) for path in (tmp_path, tmp_path / "bench" / "rows.parquet"))
    assert folder.series == file.series == read_result(tmp_path / "bench").series
    assert folder.conditions == file.conditions
    assert spans(folder)["drafty"]["instruct/p1"] == {"decode": (3.0, 6), "e2e": (4.0, 7)}
    assert {series.target for series in folder.series} == {"tiny"}
    assert {series.temperature for series in folder.series} == {0.0}


def test_the_outside_control_has_no_decode_time_of_its_own(tmp_path):
    scripted_run(tmp_path)
    assert set(spans(read_result(tmp_path))["hf-generate"]["instruct/p1"]) == {"e2e"}


def test_our_answer_file_gives_the_times_and_the_texts_of_our_rows(tmp_path):
    scripted_run(tmp_path)
    write_answers(scripted_rows(), tmp_path, AT)
    ((series, answers),) = read_result(tmp_path / "answers-drafty.jsonl").series.items()
    of_rows = read_result(tmp_path).series[Series("drafty", "tiny", 0.0)]
    assert series == Series("drafty")
    assert {key: prompt.span("e2e") for key, prompt in answers.items()} == {
        key: prompt.span("e2e") for key, prompt in of_rows.items()}
    assert all(prompt.same_answer(of_rows[key]) for key, prompt in answers.items())


def test_the_layouts_of_eagle_and_flashsd(tmp_path):
    eagle = jsonl(tmp_path / "eagle.jsonl", {"question_id": 81, "model_id": "ea", "choices": [
        {"turns": ["x", "y"], "idxs": [3, 4], "new_tokens": [10, 20], "wall_time": [1.0, 2.0]},
        {"turns": ["x", "z"], "idxs": [3, 4], "new_tokens": [11, 21], "wall_time": [1.5, 2.5]}]})
    flashsd = jsonl(tmp_path / "flashsd.jsonl", {
        "question_id": 81, "response": "x", "idx": 9, "new_tokens": 30, "wall_time": 2.0})
    assert spans(read_result(eagle)) == {"ea": {"81": {"e2e": (3.5, 31.0)}}}
    assert spans(read_result(flashsd)) == {"flashsd": {"81": {"e2e": (2.0, 30.0)}}}
    assert read_result(eagle).series[Series("ea")]["81"].texts == {0: "x\ny", 1: "x\nz"}


@pytest.mark.parametrize(("name", "content", "said"), [
    ("none.jsonl", None, "no result at"),
    ("a.txt", "x", "expected a run folder"),
    ("a.jsonl", "", "is empty"),
    ("a.parquet", "", "is empty"),
    ("a.jsonl", "\n \n", "has no answers"),
    ("a.jsonl", "{", "line 1: not an EAGLE or FlashSD answer"),
    ("a.jsonl", "[]\n", "one JSON document"),
    ("a.json", '[\n {"question_id": 1}\n]', "one JSON document"),
    ("summary.json", '{\n "rows": []\n}', "one JSON document"),
    ("a.jsonl", b"\xff\xfe\x00\x01", "line 1: not an EAGLE or FlashSD answer (not UTF-8 text)"),
    ("a.jsonl", b"\x00\x01\x02", "line 1"),
    ("a.jsonl", "[" * 100_000, "line 1"),
    ("a.jsonl", '\n{"question_id": 1, "new_tokens": 3}\n', "line 2: not an EAGLE or FlashSD answer (no `wall_time`)"),
    ("a.jsonl", '{"question_id": 1, "choices": []}', "no choices"),
    ("a.jsonl", '{"question_id": 1, "choices": 3}', "line 1"),
    ("a.jsonl", '{"question_id": 1, "choices": [{"new_tokens": ["3"], "wall_time": [1]}]}', "no number of tokens"),
    ("a.jsonl", '{"question_id": 1, "choices": [{"new_tokens": [3, 4], "wall_time": [1]}]}', "one entry per turn"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 3, "wall_time": NaN}', "`nan` is no number of seconds"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 3, "wall_time": -1}', "`-1` is no number of seconds"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 3, "wall_time": 0.0}', "3 tokens in 0 seconds"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 0, "wall_time": 1}', "`0` is no number of tokens"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 2.5, "wall_time": 1}', "`2.5` is no number of tokens"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 1e400, "wall_time": 1}', "`inf` is no number of tokens"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 3, "wall_time": 1}\n' * 2, "answered twice by a, in lines 1 and 2"),
    ("a.jsonl", '{"question_id": 1, "new_tokens": 3, "wall_time": 1%s}' % ("0" * 400), "is no number of seconds"),
    ("a.jsonl", '{"question_id": "\\ud800", "new_tokens": 3, "wall_time": 1}', "line 1"),
    ("a.parquet", "no parquet", "is no Parquet file"),
    ("a.parquet", "PAR1 and no more", "is no Parquet file"),
])
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, name, content, said, capsys):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SystemExit) as caught:
        main(["compare", str(path), str(path)])
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1


def test_other_tables_folders_and_empty_ones_are_named(tmp_path):
    pq.write_table(pa.table({"task": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(UserError, match="no column `sample`"):
        read_result(tmp_path / "other.parquet")
    with pytest.raises(UserError, match="has no rows"):
        read_result(parquet(tmp_path / "empty.parquet", []))
    with pytest.raises(UserError, match=r"no bench/rows\.parquet"):
        read_result(tmp_path)


def broken(**columns):
    """Two good rows with some values replaced, as a table."""
    table = {name: [one[name] for one in many(2)] for name in ("task", "sample", "method", "committed", "seconds")}
    return pa.table({**table, **columns})


SECONDS = {"vision": 0.0, "prefill": 1.0, "draft_prefill": 0.0, "draft": 0.0, "verify": 2.0, "other": 0.0}


@pytest.mark.parametrize(("columns", "said"), [
    ({"committed": ["a", "b"]}, "its column `committed` is string, not list<"),
    ({"seconds": [1.0, 2.0]}, "its column `seconds` is double, not struct<"),
    ({"seconds": [{"prefill": 1.0}] * 2}, "its column `seconds` has no `vision`"),
    ({"seconds": [SECONDS, None]}, "row 2 (instruct/p1, drafty): `seconds` is empty"),
    ({"seconds": [SECONDS, SECONDS | {"verify": math.nan}]}, "row 2 (instruct/p1, drafty): `nan` is no number"),
    ({"seconds": [SECONDS, SECONDS | {"verify": None}]}, "`None` is no number of seconds"),
    ({"seconds": [SECONDS, SECONDS | {"verify": -2.0}]}, "`-2.0` is no number of seconds"),
    ({"seconds": [SECONDS, dict.fromkeys(SECONDS, 0.0)]}, "3 tokens in 0 seconds"),
    ({"committed": [[2], [None]]}, "`committed` has an empty place"),
    ({"committed": [[2], [-7]]}, "`-6` is no number of tokens"),
    ({"method": ["drafty", None]}, "`method` is empty"),
    ({"sample": ["p0", "p0"]}, "repeat 0 of this prompt is in the file twice"),
])
def test_a_table_of_wrong_types_or_values_is_told_by_column_and_row(tmp_path, columns, said):
    pq.write_table(broken(**columns), tmp_path / "rows.parquet")
    with pytest.raises(UserError) as caught:
        read_result(tmp_path / "rows.parquet")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_may_hold_the_same_in_other_types(tmp_path):
    narrow = pa.array([[2], [2]], pa.list_(pa.int16()))
    pq.write_table(broken(committed=narrow, sample=[1, 2]), tmp_path / "rows.parquet")
    assert spans(read_result(tmp_path / "rows.parquet"))["drafty"]["instruct/1"]["decode"] == (2.0, 2.0)


def test_a_damaged_summary_is_named(tmp_path):
    scripted_run(tmp_path)
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(UserError, match=r"summary\.json is damaged"):
        read_result(tmp_path)
