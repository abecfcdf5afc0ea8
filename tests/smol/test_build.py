"""A build goes on where it was ended, and ends where one that ran through does."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from specflash.errors import UserError
from specflash.smol.bodies import BODIES
from specflash.smol.build import RECIPES, STEPS, Builder, Recipe, draw, only, steps_of, visual_tokens

NAME = "qwen2.5-vl-smol"
SHORT = replace(RECIPES[NAME], window_steps=1, window_scenes=1, window_clips=1, patch_steps=0, save_every=1,
                tune=((8, 2),), refine=((8, 1),), clips=())


class Enough(Exception):
    """Raised in place of a kill."""


def built(folder, stop=None, recipe=SHORT, start=None):
    """The tensors after these stages; `stop`: ended behind that step of tuning first, then run again."""
    told = []

    def report(stage, step, steps, figures):
        told.append((stage, step, steps))
        if (stage, step) == stop:
            raise Enough

    if stop:
        with pytest.raises(Enough):
            Builder(recipe, BODIES[NAME], folder, report, start).run()
        stop = None
    builder = Builder(recipe, BODIES[NAME], folder, report, start)
    builder.run()
    builder.export(folder / "weights.safetensors")
    return load_file(folder / "weights.safetensors"), told


@pytest.fixture(scope="module")
def through(tmp_path_factory):
    return built(tmp_path_factory.mktemp("through"))


def test_every_stage_runs_its_steps_and_only_what_is_trained_is_kept(through):
    tensors, told = through
    assert told == [("windows", 1, 1), ("tune", 1, 2), ("tune", 2, 2), ("refine", 1, 1)]
    assert {name.partition(".")[0] for name in tensors} == {"tower", "lora"}
    assert {tensor.dtype for tensor in tensors.values()} == {torch.bfloat16}
    assert 2 * sum(tensor.numel() for tensor in tensors.values()) <= 16 * 2**20


def test_a_killed_build_goes_on_and_ends_at_the_same_weights(through, tmp_path):
    tensors, told = built(tmp_path, stop=("tune", 2))  # which was not saved yet: it is done again
    assert [step for step in told if step[0] == "tune"] == [("tune", 1, 2), ("tune", 2, 2), ("tune", 2, 2)]
    assert all(torch.equal(tensors[name], through[0][name]) for name in tensors)


def test_what_another_target_learnt_to_say_is_a_start(tmp_path):
    shared = RECIPES["llava-smol"]
    deltas = load_file("specflash/weights/llava-smol/model.safetensors")
    none = only(replace(shared, window_steps=0), "windows")
    tensors, told = built(tmp_path, recipe=none, start="specflash/weights/llava-smol/model.safetensors")
    assert told == []
    assert all(torch.equal(tensors[name], deltas[name]) for name in tensors if name.startswith("lora."))


def test_stages_can_be_chosen_by_name():
    recipe = only(RECIPES["llava-smol"], "refine, clips")
    assert (recipe.window_steps, recipe.patch_steps, recipe.tune) == (0, 0, ())
    assert (recipe.refine, recipe.clips) == (RECIPES["llava-smol"].refine, RECIPES["llava-smol"].clips)
    assert only(Recipe(), "") == Recipe()
    assert list(STEPS) == ["windows", "patches", "tune", "refine", "clips"]
    with pytest.raises(UserError, match=r"unknown stage `refin`.*refine"):
        only(Recipe(), "refin")


def test_kept_tokens_follow_the_parts_of_a_stage():
    parts = ((96, 2), (576, 1))
    assert [visual_tokens(parts, step) for step in range(4)] == [96, 96, 576, 576]
    assert steps_of(parts) == 3


def test_no_two_steps_share_a_scene_or_clip():
    drawn = [one for step in range(3) for one in draw(10, step, 2, 1)]
    assert len({(type(one), one.seed) for one in drawn}) == len(drawn) == 9
