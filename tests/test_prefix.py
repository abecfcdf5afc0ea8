"""The visual prefix: run once for its neighbours, and nobody's features depend on them."""

from dataclasses import replace

import pytest
import torch

from specflash.prefix import FeaturePasses, prefix_key
from specflash.records import Turn, prefix_of
from tests.tiny import VISUAL_TOKENS, make_sample, picture, tiny_target

RED, BLUE = picture((200, 30, 30)), picture((30, 30, 200))


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tiny_target(tmp_path_factory.mktemp("tiny"))


def prompt_of(target, question: str, *images: bytes):
    return target.encode(make_sample(question, "An answer.", images))


def test_the_prefix_ends_with_the_last_picture():
    assert prefix_of(()) == 0
    assert prefix_of(((3, 4), (9, 2))) == 11


def test_prompts_that_begin_alike_have_the_same_prefix_and_no_others(target):
    one = prompt_of(target, "What is it?", RED)
    assert prefix_key(one) == prefix_key(prompt_of(target, "And how large?", RED))
    assert prefix_key(one) != prefix_key(prompt_of(target, "What is it?", BLUE))
    assert prefix_key(one) != prefix_key(prompt_of(target, "What is it?", RED, RED))
    assert prefix_key(one) != prefix_key(replace(one, ids=one.ids + 1))


def test_what_is_said_of_each_token_counts_up_to_the_prefix_only(target):
    one, two = (prompt_of(target, question, RED) for question in ("What?", "And how large is it?"))
    kinds = [replace(prompt, pixels=prompt.pixels | {"kinds": torch.zeros_like(prompt.ids)}) for prompt in (one, two)]
    assert prefix_key(kinds[0]) == prefix_key(kinds[1]) != prefix_key(one)


@pytest.mark.parametrize("images", [(), (RED,)])
def test_other_text_behind_the_same_beginning_may_be_run_instead(target, images):
    asked, told = target.encode(make_sample("What?", None, images)), prompt_of(target, "What?", *images)
    passes = FeaturePasses(target)
    assert torch.equal(passes.features(asked, told.ids), passes.features(told))


def test_features_do_not_depend_on_the_neighbours_to_the_last_bit(target):
    prompts = [prompt_of(target, question, *images) for question, images in (
        ("What?", (RED,)), ("Where is it, and how many of them are there? " * 4, (RED,)), ("Who?", (BLUE,)),
        ("No picture?", ()), ("Which of the two?", (BLUE, RED)), ("What?", (RED,)))]
    together = FeaturePasses(target)
    for prompt in prompts:
        assert torch.equal(together.features(prompt), FeaturePasses(target).features(prompt))


def test_features_are_those_of_one_pass_up_to_the_order_of_sums(target):
    prompt = prompt_of(target, "Where is it?", RED)
    with torch.inference_mode():
        whole = target.forward(target.embed_prompt(prompt), None, target.positions(prompt, 0, prompt.length), None, 0)
    torch.testing.assert_close(FeaturePasses(target).features(prompt), whole.features[0], rtol=1e-4, atol=1e-5)


def test_inner_states_come_behind_the_features_which_stay_what_they_are(target):
    for prompt in (prompt_of(target, "Where is it?", RED), prompt_of(target, "No picture?")):
        passes, positions = FeaturePasses(target, inner=0), target.positions(prompt, 0, prompt.length)
        with torch.inference_mode():
            whole = target.forward(target.embed_prompt(prompt), None, positions, None, 0, inner=0)
        torch.testing.assert_close(passes.rows(prompt), whole.rows[0], rtol=1e-4, atol=1e-5)
        assert torch.equal(passes.features(prompt), FeaturePasses(target).features(prompt))


def test_a_picture_is_looked_at_once_for_all_its_neighbours(target, monkeypatch):
    prompts = [prompt_of(target, question, RED) for question in ("What?", "Where?", "Who is that?")]
    looks, rows, passes = [], [], FeaturePasses(target)
    embed_prompt, forward = target.embed_prompt, target.forward
    monkeypatch.setattr(target, "embed_prompt", lambda prompt: looks.append(1) or embed_prompt(prompt))
    monkeypatch.setattr(target, "forward",
                        lambda embeds, *rest, **named: rows.append(embeds.shape[1]) or forward(embeds, *rest, **named))
    for prompt in prompts:
        passes.features(prompt)
    assert len(looks) == 1
    assert rows == [prompts[0].prefix, *(prompt.length - prompt.prefix for prompt in prompts)]
    assert prompts[0].prefix >= VISUAL_TOKENS


def test_a_conversation_of_several_turns_has_one_prefix(target):
    sample = replace(make_sample(media=(RED,)), turns=(Turn("What?", "This."), Turn("Where?", "Here.")))
    prompt = target.encode(sample)
    assert prompt.prefix == prompt_of(target, "What?", RED).prefix
    assert len(FeaturePasses(target).features(prompt)) == prompt.length
