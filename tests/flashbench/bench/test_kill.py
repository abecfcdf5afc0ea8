"""`kill -9` in the middle of a benchmark, then the same one again: no prompt twice, none lost, none redone."""

import json

from flashbench.bench import measure
from flashbench.bench.rows import read_rows
from tests.flashbench.experiment import make_experiment
from tests.flashbench.killing import run_until

PROMPTS = 12


def test_a_killed_benchmark_continues_where_it_was(tmp_path):
    settings = make_experiment(tmp_path, prompts=PROMPTS)
    journal = settings.run / "bench" / "rows.jsonl"
    run_until(lambda: journal.is_file() and journal.read_bytes().count(b"\n") >= 2,
              "flashbench.bench:measure", settings, tmp_path, seconds=200, look_every=0.005)
    before = journal.read_bytes().split(b"\n")[:-1]
    assert 2 <= len(before) < PROMPTS

    summary = measure(settings)
    lines = journal.read_bytes().splitlines()
    assert lines[: len(before)] == before
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys)) == PROMPTS
    rows = read_rows(settings.run / "bench" / "rows.parquet")
    assert len(rows) == len({(row["sample"], row["method"]) for row in rows}) == PROMPTS * 5
    assert summary["valid"], summary["refusals"]
