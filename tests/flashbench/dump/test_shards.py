"""What a shard holds once for several samples, and when it is not written at all."""

import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from safetensors import safe_open

from flashbench.dump.shards import Limits, check_room
from flashbench.dump.store import FeatureStore
from specflash.files import DiskFull
from specflash.records import Features
from tests.flashbench.dump.test_store import assert_same, features, write


def of_one_picture(name: str, length: int) -> Features:
    """Its features begin as those of every sample of this name's first letter."""
    sample, shared = features(name, length), features(name[0], 3).features
    return replace(sample, features=torch.cat([shared, sample.features[3:]]))


def test_a_visual_prefix_that_samples_share_is_stored_once(tmp_path):
    samples = [of_one_picture(name, length) for name, length in (("a1", 5), ("a2", 9), ("b1", 6), ("a3", 4))]
    write(tmp_path, *samples)
    with safe_open(next(tmp_path.glob("*.safetensors")), "pt") as shard:
        rows = {name: len(shard.get_tensor(name)) for name in shard.keys() if name.endswith("features")}  # noqa: SIM118
    shared = [length for name, length in rows.items() if name.startswith("prefix-")]
    assert shared == [3, 3]  # pictures a and b
    assert {name: rows[f"{name}/features"] for name in ("a1", "a2", "a3", "b1")} == {"a1": 2, "a2": 6, "a3": 1, "b1": 3}
    store = FeatureStore(tmp_path)
    for sample in samples:
        assert_same(store.read(sample.id), sample)
    assert store.verify() == []


def test_every_shard_holds_the_prefixes_of_its_own_samples(tmp_path):
    """So that a lost shard takes no sample of another one along."""
    first, second = of_one_picture("a1", 5), of_one_picture("a2", 9)
    write(tmp_path, first, second, limits=Limits(target_mb=0))
    store = FeatureStore(tmp_path)
    assert len({row.shard for row in store.rows}) == 2
    (tmp_path / store.rows[0].shard).unlink()
    assert_same(store.read("a2"), second)


def test_a_shard_that_would_eat_into_the_reserve_is_not_written(tmp_path):
    write(tmp_path, features("a"))
    free = shutil.disk_usage(tmp_path).free / 2**20
    with pytest.raises(DiskFull, match=r"MiB are free in .*dump\.reserve_mb=.*what is finished is kept.*same command"):
        write(tmp_path, features("b"), limits=Limits(reserve_mb=2 * free))
    assert FeatureStore(tmp_path).ids() == ["a"]
    write(tmp_path, features("b"), limits=Limits(reserve_mb=free / 2))
    assert FeatureStore(tmp_path).ids() == ["a", "b"]


def test_the_reserve_is_what_is_left_after_the_shard(tmp_path, monkeypatch):
    monkeypatch.setattr("flashbench.dump.shards.disk_usage", lambda folder: SimpleNamespace(free=10 * 2**20))
    check_room(tmp_path, 4 * 2**20, reserve_mb=6)
    with pytest.raises(DiskFull, match=r"10 MiB are free in .*, and 4 more would not leave dump\.reserve_mb=7"):
        check_room(tmp_path, 4 * 2**20, reserve_mb=7)
