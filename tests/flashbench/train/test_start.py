"""Training goes on from a finished draft only where that is a draft of this target with these settings."""

import shutil

import pytest
import torch

from flashbench.dump.store import FeatureStore
from flashbench.train import step
from flashbench.train.recipe import recipe_of
from flashbench.train.start import start_of
from specflash.drafts.store import make_draft, save_draft
from specflash.errors import UserError
from tests.flashbench.train.conftest import WIDTH

EAGLE = {"k": 3, "head_dim": 16}


@pytest.fixture
def fingerprint(experiment):
    return FeatureStore(experiment.dump_folder).manifest.fingerprint


@pytest.fixture
def finished(experiment, fingerprint, tmp_path):
    """Settings that start from a folder with a finished EAGLE draft, and that draft."""
    torch.manual_seed(5)
    draft = make_draft("eagle", EAGLE, WIDTH)
    save_draft(draft, tmp_path / "finished" / "eagle", "llava-1.5", fingerprint)
    return starting(experiment, tmp_path / "finished"), draft


def starting(settings, folder):
    return settings.model_copy(update={"train": settings.train.model_copy(update={"start": folder})})


def test_without_a_start_training_is_from_scratch(experiment, fingerprint):
    assert start_of(experiment, "eagle", fingerprint) is None


def test_the_weights_are_put_into_the_new_draft(finished, fingerprint):
    settings, draft = finished
    new = make_draft("eagle", EAGLE, WIDTH)
    start_of(settings, "eagle", fingerprint).put_into(new)
    for mine, other in zip(new.parameters(), draft.parameters(), strict=True):
        assert torch.equal(mine, other.bfloat16().float())


def test_a_worker_begins_with_these_weights_and_their_vocabulary(experiment, fingerprint, tmp_path, monkeypatch):
    monkeypatch.setattr(step.ray.train.torch, "get_device", lambda: torch.device("cpu"))
    wanted, ids = experiment.drafts["specflash"], torch.arange(200, 240)
    torch.manual_seed(5)
    draft = make_draft("specflash", wanted, WIDTH, ids)
    save_draft(draft, tmp_path / "finished" / "specflash", "llava-1.5", fingerprint)
    settings = starting(experiment, tmp_path / "finished")
    start = start_of(settings, "specflash", fingerprint)
    manifest = FeatureStore(settings.dump_folder).manifest
    begun = step._draft(settings, "specflash", start.vocabulary_ids, start, manifest)
    assert torch.equal(begun.vocabulary_ids, ids)
    assert {name: tensor.tolist() for name, tensor in begun.state_dict().items()} == {
        name: tensor.tolist() for name, tensor in start.tensors.items()}


def test_the_recipe_follows_from_what_lies_there_and_not_from_where(finished, fingerprint, tmp_path):
    settings, _ = finished
    store, draft = FeatureStore(settings.dump_folder), make_draft("eagle", EAGLE, WIDTH)

    def recipe(settings):
        return recipe_of(settings, draft, store, start_of(settings, "eagle", fingerprint))

    moved = starting(settings, shutil.copytree(tmp_path / "finished", tmp_path / "elsewhere"))
    assert recipe(moved) == recipe(settings) != recipe(starting(settings, None))
    save_draft(make_draft("eagle", EAGLE, WIDTH), tmp_path / "elsewhere" / "eagle", "llava-1.5", fingerprint)
    assert recipe(moved) != recipe(settings)


def test_a_draft_of_another_target_is_refused(finished):
    with pytest.raises(UserError, match=r"was trained for the target `llava-1.5` with other weights"):
        start_of(finished[0], "eagle", "another")


def test_a_draft_with_other_settings_is_refused(finished, fingerprint):
    changed = finished[0].model_copy(update={"drafts": {"eagle": {**EAGLE, "k": 4}}})
    with pytest.raises(UserError, match="k 3 → 4"):
        start_of(changed, "eagle", fingerprint)


def test_a_folder_without_this_draft_is_refused(finished, fingerprint):
    with pytest.raises(UserError, match=r"no draft in .*specflash: config.json is missing"):
        start_of(finished[0], "specflash", fingerprint)
