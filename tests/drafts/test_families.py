"""Lossless over every family of targets: any number of visual tokens, slices side by side, three positions."""

import pytest

from specflash.decoding import generate
from specflash.drafts.store import make_draft
from specflash.records import Clip
from tests.decoding.scripted import NEW, check_account, greedy, unending, with_ends
from tests.decoding.trees import Trees
from tests.drafts.rehearsal import rehearse
from tests.drafts.toy import SETTINGS
from tests.families import FAMILIES, tiny_of
from tests.tiny import make_sample, picture
from tests.videos import write_video


@pytest.fixture(scope="module", params=[name for name in FAMILIES if name != "llava-1.5"])
def told(request, tmp_path_factory):
    """A target, prompts that show it something, and what it says to each."""
    folder = tmp_path_factory.mktemp(request.param)
    target = tiny_of(request.param, folder)
    clip = Clip(write_video(folder / "clip.mp4", frames=6).read_bytes(), 4)
    shown = ((), (picture(),), (clip, picture((20, 90, 200))))
    prompts = [target.encode(make_sample("What is it?", media=media)) for media in shown]
    return target, [(prompt, unending(target, prompt, NEW + 8)) for prompt in prompts]


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("name", ["specflash", "specflash-tree", "eagle", "eagle2", "eagle-vlm", "specvlm",
                                  "dream"])
def test_greedy_text_is_vanilla_s(told, name, k):
    target, texts = told
    for prompt, text in texts:
        made = make_draft(name, {**SETTINGS[name], "k": k}, target.width).attach(target.ends).eval()
        done = generate(with_ends(target), rehearse(made, text, seed=k), prompt, greedy())
        assert done.ids == text[:NEW]
        check_account(done, greedy())


@pytest.mark.parametrize("nodes", [5, 16])
def test_greedy_text_through_trees_is_vanilla_s(told, nodes):
    """Nodes stand at the positions of their depth, and the cache keeps the path that is kept."""
    target, texts = told
    kept = set()
    for prompt, text in texts:
        for seed in range(3):
            done = generate(with_ends(target), Trees(text, nodes, seed), prompt, greedy())
            assert done.ids == text[:NEW]
            kept |= set(done.kept)
    assert max(kept) > 1
