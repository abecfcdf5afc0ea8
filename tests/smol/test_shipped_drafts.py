"""The drafts that ship with the embedded targets: small, their own, and what the demo and the headline start from."""

from pathlib import Path

import pytest

from flashbench.measure_target import PICTURES
from flashbench.settings import load_settings
from flashbench.train.start import start_of
from specflash.data.drawn import SPLIT_SEEDS, TEST_SEED, scene_seeds
from specflash.data.scenes import draw_scene
from specflash.decoding import generate
from specflash.drafts.store import WEIGHTS, load_draft
from specflash.drafts.vanilla import Vanilla
from specflash.sampling import Sampling
from specflash.targets import load_target, target_fingerprint

ROOT = Path(__file__).parents[2]
WEIGHTS_OF = ROOT / "specflash" / "weights"
SHIPPED = {"llava-smol": ("eagle", "specflash"), "qwen2.5-vl-smol": ("eagle", "specflash")}
EACH = [(target, name) for target, names in SHIPPED.items() for name in names]
CONFIGS = {"llava-smol": ("demo", "headline", "llava-smol-drafts"),
           "qwen2.5-vl-smol": ("headline-qwen2.5-vl", "qwen2.5-vl-smol-drafts")}


def config(name):
    return load_settings(ROOT / "jobs" / "configs" / f"{name}.yaml")


@pytest.mark.parametrize(("target", "name"), EACH)
def test_the_committed_file_is_small_and_has_a_card(target, name):
    folder = WEIGHTS_OF / target / "drafts"
    assert (folder / name / WEIGHTS).stat().st_size <= 16 * 2**20
    assert name in (folder / "CARD.md").read_text()


@pytest.mark.parametrize(("target", "name"), EACH)
def test_they_are_what_the_configs_ask_for(target, name):
    """Settings, target and vocabulary fit, so that training can go on from them."""
    for path in CONFIGS[target]:
        settings = load_settings(ROOT / "jobs" / "configs" / f"{path}.yaml",
                                 [f"train.start={WEIGHTS_OF / target / 'drafts'}"])
        if name in settings.drafts:
            start = start_of(settings, name, target_fingerprint(target))
            assert len(start.vocabulary_ids) == settings.drafts[name]["vocabulary"]


@pytest.mark.parametrize("target", CONFIGS)
def test_they_were_trained_on_other_scenes_than_those_they_are_shown_with(target):
    *shown, drafts = map(config, CONFIGS[target])
    mine = [scene_seeds(split, SPLIT_SEEDS, drafts.scenes.seed) for split in ("train", "test")]
    for settings in shown:
        theirs = [scene_seeds(split, SPLIT_SEEDS, settings.scenes.seed) for split in ("train", "test")]
        assert all(set(one).isdisjoint(other) for one in mine for other in theirs)


@pytest.mark.parametrize("name", SHIPPED)
def test_they_draft_well_and_change_nothing(name):
    """One held-out picture: vanilla's own tokens, in fewer passes."""
    target = load_target(name, dtype="float32", device="cpu")
    prompt = target.encode(PICTURES.ask(draw_scene(TEST_SEED)))
    sampling = Sampling(max_new_tokens=32)
    expected = generate(target, Vanilla(Vanilla.Config(width=target.width)).attach(target.ends), prompt, sampling)
    for draft in SHIPPED[name]:
        answer = generate(target, load_draft(WEIGHTS_OF / name / "drafts" / draft, target), prompt, sampling)
        assert answer.ids == expected.ids
        assert len(answer.committed) <= 31 / 2
