"""Checking a dump: changed bytes, other weights and another picture are found; a sound dump passes."""

from dataclasses import replace

import pytest

from flashbench.dump.store import FeatureStore, _open_shard
from flashbench.verify_dump import run_verify_dump
from specflash.errors import UserError
from tests.flashbench.dump.source import dump_here, jpeg, settings_for, write_source
from tests.tiny import save_tiny_llava


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return save_tiny_llava(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture
def settings(weights, tmp_path):
    made = settings_for(weights, write_source(tmp_path / "data", 4), tmp_path / "run")
    made = made.model_copy(update={"target": made.target.model_copy(update={"device": "cpu"})})
    dump_here(made)
    return made


def test_a_sound_dump_passes_and_its_features_come_out_the_same(settings, capsys):
    assert run_verify_dump(settings, recompute=3)
    printed = capsys.readouterr().out
    assert "4 of 4 samples are as they were written" in printed
    assert "3 of 3 samples computed again are as the target gives them (largest relative difference 0)" in printed


def test_changed_bytes_are_found_and_named(settings, capsys):
    store = FeatureStore(settings.dump_folder)
    shard = settings.dump_folder / store.rows[0].shard
    data = bytearray(shard.read_bytes())
    data[-3] ^= 1
    shard.unlink()
    shard.write_bytes(data)
    _open_shard.cache_clear()
    assert not run_verify_dump(settings, recompute=0)
    told = capsys.readouterr()
    assert "3 of 4 samples are as they were written" in told.out
    assert f"{shard} holds damaged samples" in told.err


def test_features_that_are_whole_and_not_the_targets_are_found(settings, tmp_path, capsys):
    """As if rows had been mixed up when they were dumped: every checksum is right."""
    mixed_up = settings.model_copy(update={"run": tmp_path / "other"})
    dump_here(mixed_up, change=lambda sample: replace(sample, features=sample.features.roll(1, 0)))
    assert not run_verify_dump(mixed_up, recompute=2)
    told = capsys.readouterr()
    assert "4 of 4 samples are as they were written" in told.out
    assert "0 of 2 samples computed again" in told.out
    assert "the stored features differ from the target's" in told.err


def test_other_weights_are_refused(settings, tmp_path):
    other = save_tiny_llava(tmp_path / "other", seed=1)
    target = settings.target.model_copy(update={"weights": str(other)})
    with pytest.raises(UserError, match="features of other weights than those of the target"):
        run_verify_dump(settings.model_copy(update={"target": target}))


def test_a_sample_that_left_the_source_is_not_looked_for(settings):
    (settings.dump.source.path / "images/0.jpg").write_bytes(jpeg(9))
    assert run_verify_dump(settings, recompute=4)
