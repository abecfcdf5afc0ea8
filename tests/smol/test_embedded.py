"""The embedded targets' committed weights: small, complete, and telling what they see."""

import pytest
import torch

from flashbench.measure_target import CLIPS, PICTURES, QUESTION, greedy_answers
from specflash.smol.llava_smol import LLAVA_SMOL
from specflash.smol.qwen_smol import QWEN_SMOL
from specflash.targets import load_ends, load_target, target_fingerprint
from tests.tiny import grey, make_sample

SHOWN = {"pictures": 6, "clips": 3}
"""The cards have many more."""
LEAST = {"llava-smol": 0.6, "qwen2.5-vl-smol": 0.35}
"""Object F1 of so few pictures."""
SPANS = {"llava-smol": ([576, 576], [576] * 4), "qwen2.5-vl-smol": ([324, 324], [324] * 2)}
"""Visual tokens of two pictures, and of a clip of four frames."""


@pytest.fixture(scope="module", params=[LLAVA_SMOL, QWEN_SMOL], ids=lambda one: one.name)
def shipped(request):
    return request.param


@pytest.fixture(scope="module")
def target(shipped):
    return load_target(shipped.name, dtype="float32", device="cpu")


def test_the_committed_file_is_small_and_has_a_card(shipped):
    assert shipped.weights.stat().st_size <= 16 * 2**20
    card = (shipped.weights.parent / "CARD.md").read_text()
    assert "F1" in card and "entropy" in card


def test_pictures_and_clips_have_the_visual_tokens_of_the_architecture(target):
    pictures, clip = SPANS[target.name]
    prompt = target.encode(make_sample(media=(grey(336, 336), grey(400, 400))))
    assert [length for _, length in prompt.spans] == pictures
    prompt = target.encode(CLIPS.ask(CLIPS.held_out(1)[0]))
    assert [length for _, length in prompt.spans] == clip


def test_weights_are_bf16_values_in_every_precision(target):
    weight = target.model.lm_head.weight
    assert torch.equal(weight, weight.bfloat16().float())


def test_the_fingerprint_is_that_of_the_committed_weights(target, shipped):
    assert target.fingerprint == target_fingerprint(shipped.name) == shipped.fingerprint()


def test_ends_are_tied(target):
    ends = load_ends(target.name)
    assert ends.lm_head is ends.embedding
    assert torch.equal(ends.lm_head, target.ends.lm_head)


def test_turns_follow_the_language_models_chat_format(target):
    text = target.tokenizer.decode(target.encode(make_sample(QUESTION, "A dog.")).ids[0])
    assert text.endswith(f"{QUESTION}<|im_end|>\n<|im_start|>assistant\nA dog.<|im_end|>\n")


@pytest.fixture(scope="module")
def scores(target):
    """Of a few pictures and clips."""
    found = {}
    for name, exam in {"pictures": PICTURES, "clips": CLIPS}.items():
        drawn = exam.held_out(SHOWN[name])
        answers = greedy_answers(target, [exam.ask(each) for each in drawn], limit=90)
        found[name] = exam.score([target.decode(answer) for answer in answers], drawn)
    return found


def test_captions_of_held_out_pictures_name_place_and_objects(scores, target):
    assert scores["pictures"]["place"] >= 0.65
    assert scores["pictures"]["objects"] >= LEAST[target.name]


def test_captions_of_held_out_clips_name_the_objects(scores):
    assert scores["clips"]["objects"] >= 0.5
