"""`kill -9` in the middle of a shard, then the same dump again: none twice, none lost, none redone."""

import json
import os

import pytest

from flashbench.dump.pipeline import run_dump
from flashbench.dump.read import open_source
from flashbench.dump.shards import piece_name
from flashbench.dump.store import FeatureStore
from tests.flashbench.dump.source import settings_for, write_source
from tests.flashbench.killing import run_until

pytestmark = pytest.mark.long(seconds=60)

SAMPLES = 10


@pytest.mark.timeout(900)
def test_a_killed_dump_continues_where_it_was(weights, tmp_path):
    settings = settings_for(weights, write_source(tmp_path / "data", SAMPLES), tmp_path / "run")
    opened, folder = open_source(settings.dump), settings.dump_folder
    expected = sorted(opened[index].id for index in range(SAMPLES))
    folder.mkdir(parents=True)
    # Nobody reads this pipe: the writer of the last shard waits in the middle of its work.
    last = piece_name([opened[SAMPLES - 2].id, opened[SAMPLES - 1].id])
    os.mkfifo(folder / f"shard-{last}-0.safetensors.tmp")
    run_until(lambda: len(list(folder.glob("shard-*.json"))) >= 2, "flashbench.dump.pipeline:run_dump",
              settings, tmp_path, seconds=400, look_every=0.05)

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
