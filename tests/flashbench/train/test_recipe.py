"""A finished draft is taken for what was asked for only where everything it follows from is the same."""

import json
from dataclasses import replace

import pytest

from flashbench.dump.manifest import Manifest
from flashbench.dump.store import FeatureStore
from flashbench.train.recipe import RECORD, finished_record, recipe_hash, recipe_of
from flashbench.train.run import job_of, run_train
from specflash.drafts.store import make_draft, save_draft
from specflash.errors import UserError
from tests.flashbench.train.conftest import WIDTH, make_experiment


def recipe(settings, **draft):
    return recipe_of(settings, make_draft("eagle", {"k": 3, "head_dim": 16, **draft}, WIDTH),
                     FeatureStore(settings.dump_folder), start=None)


def with_train(settings, **train):
    return settings.model_copy(update={"train": settings.train.model_copy(update=train)})


@pytest.mark.parametrize("train", [{"lr": 1e-4}, {"epochs": 4}, {"workers": 1}, {"seed": 1}, {"zero_stage": 2}])
def test_what_shapes_the_weights_changes_the_recipe(experiment, train):
    assert recipe_hash(recipe(with_train(experiment, **train))) != recipe_hash(recipe(experiment))


@pytest.mark.parametrize("train", [{"max_failures": 9}, {"checkpoint_every": 2}, {"cpus_per_worker": 3}])
def test_how_it_is_run_does_not(experiment, train):
    assert recipe(with_train(experiment, **train)) == recipe(experiment)


def test_a_default_that_is_written_out_is_the_same_recipe(experiment):
    assert recipe(experiment, inner=0) == recipe(experiment)
    assert recipe(experiment, k=4) != recipe(experiment)


def test_other_samples_are_another_recipe(experiment, weights, tmp_path):
    assert recipe(make_experiment(weights, tmp_path / "more", samples=25)) != recipe(experiment)


def test_a_finished_draft_of_another_recipe_is_refused_with_what_differs(experiment, tmp_path):
    wanted = recipe(experiment)
    assert finished_record(tmp_path, wanted) is None
    finish(tmp_path, wanted)
    assert finished_record(tmp_path, wanted)["steps"] == 7
    with pytest.raises(UserError, match=r"another recipe \(train.lr 0.03 → 0.0001\)"):
        finished_record(tmp_path, recipe(with_train(experiment, lr=1e-4)))


def finish(folder, made_with):
    """What training leaves behind."""
    save_draft(make_draft("eagle", {"k": 3, "head_dim": 16}, WIDTH), folder, "toy", "abc", {"recipe": made_with})
    record = {"recipe": made_with, "steps": 7, "parameters": 1, "seconds": 1.0, "curves": [{"epoch": 1}]}
    (folder / RECORD).write_text(json.dumps(record))


BREAKAGES = {
    "weights gone": lambda folder: (folder / "model.safetensors").unlink(),
    "weights cut": lambda folder: (folder / "model.safetensors").write_bytes(b"half"),
    "config gone": lambda folder: (folder / "config.json").unlink(),
    "config cut": lambda folder: (folder / "config.json").write_text("{"),
    "config of something else": lambda folder: (folder / "config.json").write_text('{"weights_sha256": "x"}'),
    "record cut": lambda folder: (folder / RECORD).write_text('{"recipe": {'),
    "record of something else": lambda folder: (folder / RECORD).write_text("[]"),
    "record without figures": lambda folder: (folder / RECORD).write_text('{"recipe": {}, "curves": [1]}'),
}


@pytest.mark.parametrize("harm", BREAKAGES.values(), ids=BREAKAGES)
def test_a_broken_draft_counts_as_unfinished_and_is_said_to_be(experiment, tmp_path, harm, capfd):
    wanted = recipe(experiment)
    finish(tmp_path / "d", wanted)
    harm(tmp_path / "d")
    assert finished_record(tmp_path / "d", wanted) is None
    assert "its draft is made again" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["weights gone", "weights cut", "config cut", "record cut"])
def test_a_broken_draft_of_another_recipe_is_not_written_over(experiment, tmp_path, kind):
    finish(tmp_path / "d", recipe(experiment))
    BREAKAGES[kind](tmp_path / "d")
    with pytest.raises(UserError, match="another recipe"):
        finished_record(tmp_path / "d", recipe(with_train(experiment, lr=1e-4)))


def test_an_unknown_draft_is_named_with_the_nearest_known_one(experiment):
    with pytest.raises(UserError, match=r"no draft `specflsh` \(did you mean `specflash`\?\)"):
        run_train(experiment, ["specflsh"])


def test_an_unknown_setting_of_a_draft_is_named(experiment):
    settings = experiment.model_copy(update={"drafts": {"eagle": {"hed_dim": 16}}})
    with pytest.raises(UserError, match=r"`drafts\.eagle\.hed_dim`.*did you mean `head_dim`\?"):
        run_train(settings)


def test_a_vocabulary_written_as_text_is_a_number_too(experiment):
    store = FeatureStore(experiment.dump_folder)
    drafts = [{"eagle": {"head_dim": 16, "vocabulary": size}} for size in (40, "40")]
    number, text = (job_of(experiment.model_copy(update={"drafts": each}), store, "eagle") for each in drafts)
    assert number.recipe == text.recipe


def test_features_of_another_target_are_refused(experiment):
    ours = Manifest.load(experiment.dump_folder)
    (experiment.dump_folder / "manifest.json").unlink()
    replace(ours, fingerprint="of-another").claim(experiment.dump_folder)
    with pytest.raises(UserError, match="features of other weights"):
        run_train(experiment)


def test_too_few_samples_are_refused_before_anything_starts(experiment):
    with pytest.raises(UserError, match="too few for 30 workers"):
        run_train(with_train(experiment, workers=30))


def test_a_missing_store_is_named(weights, tmp_path):
    settings = make_experiment(weights, tmp_path / "a")
    with pytest.raises(UserError, match="no feature store"):
        run_train(settings.model_copy(update={"run": tmp_path / "b"}))
