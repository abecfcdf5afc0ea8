"""A finished draft is taken for what was asked for only where everything it follows from is the same."""

import json

import pytest

from flashbench.dump.store import FeatureStore
from flashbench.train.recipe import RECORD, finished_record, recipe_hash, recipe_of
from flashbench.train.run import job_of, run_train
from specflash.drafts.store import make_draft
from specflash.errors import UserError
from tests.flashbench.train.conftest import WIDTH, make_experiment


def recipe(settings, **draft):
    return recipe_of(settings, make_draft("eagle", {"k": 3, "head_dim": 16, **draft}, WIDTH),
                     FeatureStore(settings.dump_folder))


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
    (tmp_path / RECORD).write_text(json.dumps({"recipe": wanted, "steps": 7}))
    assert finished_record(tmp_path, wanted)["steps"] == 7
    with pytest.raises(UserError, match=r"another recipe \(train.lr 0.03 → 0.0001\)"):
        finished_record(tmp_path, recipe(with_train(experiment, lr=1e-4)))


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
    manifest = experiment.dump_folder / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "fingerprint": "of-another"}))
    with pytest.raises(UserError, match="features of other weights"):
        run_train(experiment)


def test_too_few_samples_are_refused_before_anything_starts(experiment):
    with pytest.raises(UserError, match="too few for 30 workers"):
        run_train(with_train(experiment, workers=30))


def test_a_missing_store_is_named(weights, tmp_path):
    settings = make_experiment(weights, tmp_path / "a")
    with pytest.raises(UserError, match="no feature store"):
        run_train(settings.model_copy(update={"run": tmp_path / "b"}))
