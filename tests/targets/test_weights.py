"""Real weights against the transformers library itself: `make test-weights` (docs/targets.md).

SPECFLASH_TARGET names the target, SPECFLASH_WEIGHTS the folder. In float32 on the CPU where there is no GPU.
"""

import os

import pytest
import torch

from flashbench.bench.control import hf_generate
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla
from specflash.records import Clip
from specflash.sampling import Sampling
from specflash.targets import load_ends, load_target
from tests.tiny import make_sample, picture
from tests.videos import write_video

pytestmark = pytest.mark.weights
NEW = 64
SHOWN = ["no picture", "one picture", "two pictures", "clip"]


@pytest.fixture(scope="module")
def target():
    return load_target(os.environ["SPECFLASH_TARGET"], os.environ["SPECFLASH_WEIGHTS"], "float32", plain=True,
                       device_map="auto" if torch.cuda.device_count() > 1 else None)


@pytest.fixture(scope="module")
def prompts(target, tmp_path_factory):
    red, blue = picture((200, 30, 30)), picture((20, 30, 220))
    clip = Clip(write_video(tmp_path_factory.mktemp("clip") / "clip.mp4", frames=8, size=(336, 336)), 4)
    media = [(), (red,), (red, blue), (clip,)]
    return {name: target.encode(make_sample("What do you see?", media=shown))
            for name, shown in zip(SHOWN, media, strict=True)}


@pytest.mark.parametrize("shown", SHOWN)
@torch.inference_mode()
def test_logits_are_the_librarys(target, prompts, shown):
    prompt = prompts[shown]
    embeds = target.embed_prompt(prompt)
    output = target.forward(embeds, None, target.positions(prompt, 0, prompt.length), None, prompt.length)
    expected = target.model(input_ids=prompt.ids, **prompt.pixels).logits
    assert torch.equal(output.logits, expected.to(output.logits.device))
    assert torch.equal(target.head(output.features), output.logits)


@pytest.mark.parametrize("shown", SHOWN)
def test_vanilla_says_what_generate_says(target, prompts, shown):
    ours = generate(target, Vanilla(Vanilla.Config(width=target.width)), prompts[shown], Sampling(max_new_tokens=NEW))
    assert ours.ids == hf_generate(target, prompts[shown], NEW).ids
    print(f"\n{shown}: {prompts[shown].length} tokens, spans {prompts[shown].spans}\n{target.decode(ours.ids)}")


def test_its_ends_are_the_tables_the_trainer_reads(target):
    ends = load_ends(os.environ["SPECFLASH_TARGET"], os.environ["SPECFLASH_WEIGHTS"], "float32")
    assert torch.equal(ends.embedding, target.ends.embedding.cpu())
    assert torch.equal(ends.lm_head, target.ends.lm_head.cpu())
