"""The drafts that ship with the embedded target: small, its own, and what the demo starts from."""

from pathlib import Path

import pytest

from flashbench.settings import load_settings
from flashbench.train.start import start_of
from specflash.data.drawn import SPLIT_SEEDS, TEST_SEED, jpeg, scene_seeds
from specflash.data.scenes import draw_scene
from specflash.decoding import generate
from specflash.drafts.store import WEIGHTS, load_draft
from specflash.drafts.vanilla import Vanilla
from specflash.records import Sample, Turn
from specflash.sampling import Sampling
from specflash.targets import load_target, target_fingerprint

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "specflash" / "weights" / "llava-smol" / "drafts"
NAMES = ("eagle", "specflash")
QUESTION = "Provide a detailed description of the given image."


@pytest.fixture(scope="module")
def target():
    return load_target("llava-smol", dtype="float32", device="cpu")


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_file_is_small_and_has_a_card(name):
    assert (SHIPPED / name / WEIGHTS).stat().st_size <= 16 * 2**20
    assert name in (SHIPPED / "CARD.md").read_text()


@pytest.mark.parametrize("config", ["demo.yaml", "llava-smol-drafts.yaml"])
@pytest.mark.parametrize("name", NAMES)
def test_they_are_what_the_configs_ask_for(name, config):
    """Settings, target and vocabulary fit, so the demo can start from them."""
    settings = load_settings(ROOT / "jobs" / "configs" / config, [f"train.start={SHIPPED}"])
    start = start_of(settings, name, target_fingerprint("llava-smol"))
    assert len(start.vocabulary_ids) == settings.drafts[name]["vocabulary"]


def test_they_were_trained_on_other_scenes_than_the_demo_s():
    demo, drafts = (load_settings(ROOT / "jobs" / "configs" / config)
                    for config in ("demo.yaml", "llava-smol-drafts.yaml"))
    ranges = [scene_seeds(split, SPLIT_SEEDS, settings.scenes.seed)
              for settings in (demo, drafts) for split in ("train", "test")]
    assert all(set(one).isdisjoint(other) for one in ranges for other in ranges if one is not other)


def test_they_draft_well_and_change_nothing(target):
    """One held-out picture: vanilla's own tokens, in fewer passes."""
    scene = draw_scene(TEST_SEED)
    prompt = target.encode(Sample("s", (jpeg(scene),), (Turn(QUESTION),), "caption"))
    sampling = Sampling(max_new_tokens=32)
    expected = generate(target, Vanilla(Vanilla.Config(width=target.width)).attach(target.ends), prompt, sampling)
    for name in NAMES:
        answer = generate(target, load_draft(SHIPPED / name, target), prompt, sampling)
        assert answer.ids == expected.ids
        assert len(answer.committed) <= 31 / 2
