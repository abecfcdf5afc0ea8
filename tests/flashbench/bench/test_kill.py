"""`kill -9` in the middle of a benchmark, then the same one again: no prompt twice, none lost, none redone."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from flashbench.bench import measure
from flashbench.bench.rows import read_rows
from flashbench.settings import save_settings
from tests.flashbench.experiment import make_experiment

ROOT = Path(__file__).resolve().parents[3]
PROMPTS, SECONDS = 12, 200
# The alarm ends it where this test is itself killed and nobody is left to do so.
SCRIPT = (f"import signal, sys; signal.alarm({SECONDS + 60}); from flashbench.bench import measure; "
          "from flashbench.settings import load_settings; measure(load_settings(sys.argv[1]))")


def test_a_killed_benchmark_continues_where_it_was(tmp_path):
    settings = make_experiment(tmp_path, prompts=PROMPTS)
    journal = settings.run / "bench" / "rows.jsonl"
    bench_until_killed(settings, tmp_path, journal, lines=2)
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


def bench_until_killed(settings, tmp_path: Path, journal: Path, lines: int) -> None:
    """Run it in a process of its own and kill that when so many prompts are finished."""
    save_settings(settings, tmp_path / "settings.yaml")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'platform'}"}
    bench = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "settings.yaml")], env=environment)
    try:
        deadline = time.monotonic() + SECONDS
        while not journal.is_file() or journal.read_bytes().count(b"\n") < lines:
            assert bench.poll() is None, "the benchmark ended by itself"
            assert time.monotonic() < deadline, "no prompt was finished in time"
            time.sleep(0.005)
    finally:
        os.kill(bench.pid, signal.SIGKILL)
        bench.wait()
