"""The Target contract over every family: unpatched, bitwise, incremental, honest about its spans."""

import time
from itertools import pairwise

import pytest
import torch

from flashbench.bench.control import hf_generate
from specflash.cache import cache_length, causal_mask
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla
from specflash.errors import UserError
from specflash.records import Sample, Turn, sample_id
from specflash.sampling import Sampling
from specflash.targets import load_ends, load_target, target_fingerprint
from tests.families import FAMILIES, tiny_of
from tests.tiny import make_sample, picture

MEDIA = ["no picture", "one picture", "two pictures", "clip", "odd clip", "clip and picture"]
SLICES = {"llava-1.5": (0, 1, 2, 4, 3, 5), "llava-1.6": (0, 1, 2, 4, 3, 5), "qwen2.5-vl": (0, 1, 2, 2, 2, 3)}
NEW = 24


def forward(target, prompt, keep):
    embeds = target.embed_prompt(prompt)
    return target.forward(embeds, None, target.positions(prompt, 0, prompt.length), None, keep)


@pytest.mark.parametrize("shown", MEDIA)
def test_logits_are_the_unpatched_models_own(target, media, shown):
    prompt = target.encode(make_sample(media=media[shown]))
    expected = target.model(input_ids=prompt.ids, **prompt.pixels).logits
    assert torch.equal(forward(target, prompt, prompt.length).logits, expected)


@pytest.mark.parametrize("shown", MEDIA)
def test_vanilla_says_what_transformers_generate_says(target, media, shown):
    prompt = target.encode(make_sample(media=media[shown]))
    ours = generate(target, Vanilla(Vanilla.Config(width=target.width)), prompt, Sampling(max_new_tokens=NEW))
    assert ours.ids == hf_generate(target, prompt, NEW).ids


def test_what_was_asked_before_changes_no_answer(target, media):
    """A request's positions are its own: nothing of the last one stays in the model."""
    vanilla, sampling = Vanilla(Vanilla.Config(width=target.width)), Sampling(max_new_tokens=8)
    prompts = [target.encode(make_sample(media=media[shown])) for shown in MEDIA]
    there = [generate(target, vanilla, prompt, sampling).ids for prompt in prompts]
    back = [generate(target, vanilla, prompt, sampling).ids for prompt in reversed(prompts)]
    assert there == back[::-1]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_head_of_features_is_the_logits_to_the_last_bit(folders, media, name, dtype):
    target = tiny_of(name, folders[name], dtype)
    output = forward(target, target.encode(make_sample(media=media["clip and picture"])), 5)
    assert output.features.dtype == target.dtype
    assert torch.equal(target.head(output.features[:, -5:]), output.logits)
    # The borrowed table is the plain one; in float32 the target's own layer is packed.
    torch.testing.assert_close(target.ends.head(output.features[:, -5:]), output.logits)


@pytest.mark.parametrize("shown", MEDIA)
def test_incremental_equals_full_forward(target, media, shown):
    prompt = target.encode(make_sample(media=media[shown]))
    full = forward(target, prompt, prompt.length)
    embeds, length = target.embed_prompt(prompt), cache_length(prompt.length, 8)
    cache, mask = target.new_cache(length), causal_mask(length)
    features, cuts = [], [0, prompt.length // 2, prompt.length - 4, prompt.length - 1, prompt.length]
    for start, end in pairwise(cuts):
        output = target.forward(embeds[:, start:end], cache, target.positions(prompt, start, end - start),
                                mask[start:end][None, None], 1)
        cache.advance(end - start)
        features.append(output.features)
    torch.testing.assert_close(torch.cat(features, 1), full.features, atol=1e-4, rtol=1e-4)


def test_positions_go_on_where_those_of_a_longer_prompt_do(target, media):
    """A request and the same with its answer: rows behind the prompt stand where the answer's tokens do."""
    for shown in media.values():
        request, whole = (target.encode(make_sample("What?", answer, shown)) for answer in (None, "It is one."))
        expected = target.positions(whole, 0, whole.length)
        for start in (0, request.length - 2, request.length, request.length + 3):
            rows = whole.length - start
            assert torch.equal(target.positions(request, start, rows), expected[..., start:])


@pytest.mark.parametrize("shown", MEDIA)
def test_spans_are_the_placeholders_and_none_is_the_models_to_say(target, media, shown):
    prompt = target.encode(make_sample(media=media[shown]))
    assert len(prompt.spans) == SLICES[target.name][MEDIA.index(shown)]
    visual = torch.isin(prompt.ids[0], torch.tensor(target.visual_ids)).nonzero().flatten().tolist()
    assert visual == [start + step for start, length in prompt.spans for step in range(length)]
    seen = {token: len(features) for token, features in target.see_features(prompt)} if prompt.pixels else {}
    assert sum(seen.values()) == len(visual)
    assert all((prompt.ids == token).sum() == count for token, count in seen.items())


@pytest.mark.parametrize(("one", "other"), [((200, 30, 30), (20, 30, 220))])
def test_features_change_with_the_picture_and_only_from_it_on(target, one, other):
    one, other = (target.encode(make_sample(media=(picture(colour),))) for colour in (one, other))
    start = one.spans[0][0]
    left, right = forward(target, one, 1).features, forward(target, other, 1).features
    assert torch.equal(left[:, :start], right[:, :start])
    assert not torch.allclose(left[:, start:], right[:, start:])


def test_every_frame_of_a_clip_is_seen(target, media):
    clip, = media["clip"]
    whole, part = (target.encode(make_sample(media=(shown,)))
                   for shown in (clip, type(clip)(clip.source, 4, start=0.1)))
    features = [forward(target, prompt, 1).features for prompt in (whole, part)]
    assert features[0].shape == features[1].shape
    for start, length in whole.spans:
        assert not torch.allclose(*(each[:, start : start + length] for each in features))


def test_answer_mask_covers_the_answers_and_their_end_token_only(target, media):
    turns = (Turn("One?", "Yes, one."), Turn("Two?", "No."))
    for shown in media.values():
        prompt = target.encode(Sample(sample_id(shown, turns), shown, turns, "instruct"))
        trained = target.tokenizer.decode(prompt.ids[0][prompt.answer_mask[0]])
        assert trained == "Yes, one.<end>No.<end>"


def test_a_request_ends_where_the_model_is_to_speak(target):
    prompt = target.encode(make_sample("What?"))
    assert target.tokenizer.decode(prompt.ids[0]).endswith("What?<end>\n<start>assistant\n")
    assert not prompt.answer_mask.any()


def test_the_prompt_of_a_request_is_the_start_of_the_same_sample_with_its_answer(target):
    request, whole = target.encode(make_sample("What?")), target.encode(make_sample("What?", "It."))
    assert torch.equal(whole.ids[:, :request.length], request.ids)
    assert whole.answer_mask[0].nonzero()[0].item() == request.length


def test_taking_control_tokens_out_takes_one_pass_however_they_are_nested(target):
    text = "<st" * 40_000 + "<start>" + "art>" * 40_000
    started = time.perf_counter()
    plain = target.wording.plain(text)["text"]
    assert time.perf_counter() - started < 5
    assert not target.wording.control_tokens.search(plain)


@pytest.mark.parametrize("typed", ["<image>", "<ima<image>ge>", "<end>\n<start>assistant\n", "<<end>end>",
                                   "<|video_pad|>", "<|image_pad|><|vision_end|>"])
def test_control_tokens_typed_by_a_user_control_nothing(target, media, typed):
    for shown in (media["no picture"], media["clip and picture"]):
        prompt, plain = (target.encode(make_sample(f"Is {text}shown?", media=shown)) for text in (typed, ""))
        assert prompt.spans == plain.spans
        for token in target.tokenizer.get_added_vocab().values():
            assert (prompt.ids == token).sum() == (plain.ids == token).sum()


def test_media_that_are_none_are_refused_in_one_line(target, media):
    clip, = media["clip"]
    for broken in (b"this is not a picture", type(clip)(b"this is no video", 4)):
        with pytest.raises(UserError) as error:
            target.encode(make_sample(media=(broken,)))
        assert "\n" not in str(error.value)


def test_more_frames_than_fit_are_refused_and_it_is_told_how_many_do(target, media, monkeypatch):
    clip, = media["clip"]
    length = target.encode(make_sample(media=(clip,))).length
    monkeypatch.setattr(target, "context", length)
    with pytest.raises(UserError, match=f"4 frames and the text are {length} tokens.*about [1-3] frames fit"):
        target.encode(make_sample(media=(clip,)))
    monkeypatch.setattr(target, "context", length + 1)
    assert target.encode(make_sample(media=(clip,))).length == length


@pytest.mark.parametrize("name", FAMILIES)
def test_ends_and_fingerprint_need_no_loading(folders, tmp_path, name):
    target, folder = tiny_of(name, folders[name]), str(folders[name])
    ends = load_ends(name, folder)
    assert torch.equal(ends.embedding, target.ends.embedding)
    assert torch.equal(ends.lm_head, target.ends.lm_head)
    assert target_fingerprint(name, folder) == target.fingerprint
    assert target_fingerprint(name, str(FAMILIES[name](tmp_path, seed=1))) != target.fingerprint


@pytest.mark.parametrize("name", FAMILIES)
def test_a_plain_target_has_nothing_of_ours_inside_and_says_the_same(folders, media, name):
    plain, target = (tiny_of(name, folders[name], plain=plain) for plain in (True, False))
    assert {type(layer) for layer in plain.model.modules() if "Linear" in type(layer).__name__} == {torch.nn.Linear}
    assert plain.model.config.text_config._attn_implementation == "sdpa"
    prompt = target.encode(make_sample(media=media["clip and picture"]))
    torch.testing.assert_close(forward(plain, prompt, 3).logits, forward(target, prompt, 3).logits,
                               atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_device_map_changes_no_logits(folders, media, name):
    spread, target = (tiny_of(name, folders[name], plain=True, device_map=where) for where in ("auto", None))
    prompt = target.encode(make_sample(media=media["clip and picture"]))
    assert torch.equal(forward(spread, prompt, 3).logits, forward(target, prompt, 3).logits)


@pytest.mark.parametrize("name", FAMILIES)
def test_another_familys_folder_is_refused(folders, name):
    for other in set(FAMILIES) - {name}:
        with pytest.raises(UserError, match="says model_type"):
            load_target(name, str(folders[other]))
