"""Which layer's hidden states a dump stores: asked for by number, or chosen once by attention's entropy."""

import pytest
import torch

from flashbench.dump import inner
from flashbench.dump.inner import inner_layer, surest_layer
from flashbench.dump.pipeline import manifest_of
from flashbench.dump.read import open_source
from specflash.errors import UserError
from tests.flashbench.dump.source import settings_for, write_source


class Sure:
    """A target whose attention has these entropies for each prompt."""

    def attention_entropy(self, prompt):
        return torch.tensor(prompt)


def test_the_surest_layer_has_the_lowest_mean_entropy_and_is_not_the_last():
    assert surest_layer(Sure(), [[3.0, 1.0, 2.0, 0.1], [3.0, 2.0, 0.5, 0.1]]) == 2
    assert surest_layer(Sure(), [[3.0, 1.0, 2.0, 0.1]]) == 1


def test_a_chosen_layer_is_written_down_and_not_chosen_again(weights, tmp_path, monkeypatch):
    source = write_source(tmp_path / "data", 2)
    settings = settings_for(weights, source, tmp_path / "run", inner="auto")
    dataset, folder = open_source(settings.dump), settings.dump_folder
    manifest = manifest_of(settings, dataset, folder)
    assert manifest.inner == 0  # of two layers the last one does not take part
    manifest.claim(folder)
    monkeypatch.setattr(inner, "load_target", None)
    assert manifest_of(settings, dataset, folder) == manifest


def test_a_store_that_has_none_is_not_given_some(weights, tmp_path):
    source = write_source(tmp_path / "data", 1)
    settings = settings_for(weights, source, tmp_path / "run")
    dataset, folder = open_source(settings.dump), settings.dump_folder
    manifest_of(settings, dataset, folder).claim(folder)
    asking = settings_for(weights, source, tmp_path / "run", inner="auto")
    with pytest.raises(UserError, match="inner None → auto"):
        manifest_of(asking, dataset, folder).claim(folder)


def test_a_layer_that_is_not_there_is_named_with_those_that_are(weights, tmp_path):
    settings = settings_for(weights, tmp_path, tmp_path / "run", inner=2)
    with pytest.raises(UserError, match=r"dump\.inner=2: llava-1\.5 has the decoder layers 0 to 1"):
        inner_layer(settings, (), settings.dump_folder)
