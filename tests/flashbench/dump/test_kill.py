"""`kill -9` in the middle of a shard, then the same dump again: none twice, none lost, none redone."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flashbench.dump.pipeline import run_dump
from flashbench.dump.read import open_source
from flashbench.dump.shards import piece_name
from flashbench.dump.store import FeatureStore
from flashbench.settings import save_settings
from tests.flashbench.dump.source import settings_for, write_source

pytestmark = pytest.mark.long(seconds=60)

ROOT = Path(__file__).resolve().parents[3]
SAMPLES, SECONDS = 10, 400
# The alarm ends it where this test is itself killed and nobody is left to do so.
SCRIPT = (f"import signal, sys; signal.alarm({SECONDS + 60}); from flashbench.dump.pipeline import run_dump; "
          "from flashbench.settings import load_settings; run_dump(load_settings(sys.argv[1]))")


@pytest.mark.timeout(900)
def test_a_killed_dump_continues_where_it_was(weights, tmp_path):
    settings = settings_for(weights, write_source(tmp_path / "data", SAMPLES), tmp_path / "run")
    opened, folder = open_source(settings.dump), settings.dump_folder
    expected = sorted(opened[index].id for index in range(SAMPLES))
    folder.mkdir(parents=True)
    # Nobody reads this pipe: the writer of the last shard waits in the middle of its work.
    last = piece_name([opened[SAMPLES - 2].id, opened[SAMPLES - 1].id])
    os.mkfifo(folder / f"shard-{last}-0.safetensors.tmp")
    dump_until_killed(settings, tmp_path, shards=2)

    finished = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.glob("shard-*.json")}
    before = FeatureStore(folder).ids()
    assert 4 <= len(before) < SAMPLES

    summary = run_dump(settings_for(weights, tmp_path / "data", tmp_path / "run", batch=3))
    # A worker of the killed dump may outlive it for a moment and finish one more shard.
    assert summary.skipped >= len(before)
    assert summary.skipped + summary.written == SAMPLES
    rows = [row["id"] for path in folder.glob("shard-*.json") for row in json.loads(path.read_text())["samples"]]
    assert sorted(rows) == expected
    assert FeatureStore(folder).verify() == []
    for path, identity in finished.items():
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == identity


def dump_until_killed(settings, tmp_path: Path, shards: int) -> None:
    """Run the dump in a process group of its own and kill that when so many shards are finished."""
    save_settings(settings, tmp_path / "settings.yaml")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'platform'}"}
    dump = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "settings.yaml")],
                            env=environment, start_new_session=True)
    try:
        deadline = time.monotonic() + SECONDS
        while len(list(settings.dump_folder.glob("shard-*.json"))) < shards:
            assert dump.poll() is None, "the dump ended by itself"
            assert time.monotonic() < deadline, "no shard was finished in time"
            time.sleep(0.05)
    finally:
        os.killpg(dump.pid, signal.SIGKILL)
        dump.wait()
