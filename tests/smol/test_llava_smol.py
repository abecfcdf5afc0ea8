"""The committed weights: small, complete, and telling what they see."""

import pytest
import torch

from flashbench.measure_target import PICTURES as EXAM
from flashbench.measure_target import QUESTION, greedy_answers
from specflash.records import Turn
from specflash.smol.llava_smol import IMAGE_SIZE, LLAVA_SMOL, PATCH
from specflash.targets import load_ends, load_target, target_fingerprint
from tests.tiny import make_sample, picture

PICTURES = 3


@pytest.fixture(scope="module")
def target():
    return load_target("llava-smol", dtype="float32", device="cpu")


def test_the_committed_file_is_small_and_has_a_card():
    assert LLAVA_SMOL.weights.stat().st_size <= 16 * 2**20
    card = (LLAVA_SMOL.weights.parent / "CARD.md").read_text()
    assert "F1" in card
    assert "entropy" in card


def test_a_picture_is_576_visual_tokens(target):
    prompt = target.encode(make_sample(media=(picture(), picture((0, 200, 0)))))
    assert [length for _, length in prompt.spans] == [(IMAGE_SIZE // PATCH) ** 2] * 2


def test_weights_are_bf16_values_in_every_precision(target):
    weight = target.model.lm_head.weight
    assert torch.equal(weight, weight.bfloat16().float())


def test_the_fingerprint_is_that_of_the_committed_weights(target):
    assert target.fingerprint == target_fingerprint("llava-smol") == LLAVA_SMOL.fingerprint()


def test_ends_are_tied(target):
    ends = load_ends("llava-smol")
    assert ends.lm_head is ends.embedding
    assert torch.equal(ends.lm_head, target.ends.lm_head)


def test_turns_follow_the_language_models_chat_format(target):
    sample = make_sample(QUESTION, "A dog.")
    text = target.tokenizer.decode(target.encode(sample).ids[0])
    assert text.endswith(f"\n{QUESTION}<|im_end|>\n<|im_start|>assistant\nA dog.<|im_end|>\n")
    assert sample.turns == (Turn(QUESTION, "A dog."),)


@pytest.fixture(scope="module")
def scores(target):
    """A few pictures; the card's figures are over more."""
    scenes = EXAM.held_out(PICTURES)
    answers = greedy_answers(target, [EXAM.ask(scene) for scene in scenes], limit=90)
    return EXAM.score([target.decode(answer) for answer in answers], scenes)


def test_captions_of_held_out_pictures_name_the_place(scores):
    assert scores["place"] >= 0.65


def test_captions_of_held_out_pictures_name_the_objects(scores):
    """The card has more pictures."""
    assert scores["objects"] >= 0.6
