"""A conversation in OpenAI's words -> a Sample and a Sampling."""

import json
from base64 import b64encode

import pytest

from flashbench.serve.chat import read_order
from flashbench.serve.events import Order
from flashbench.serve.refusal import Refusal
from flashbench.serve.schema import parse_request
from flashbench.settings import ServeSettings
from specflash.records import Clip, Turn, sample_id
from specflash.sampling import Sampling
from tests.tiny import picture

RED, BLUE = picture((200, 0, 0)), picture((0, 0, 200))
LIMITS = ServeSettings(max_new_tokens=100, max_pictures=2, max_pixels=3000)  # a picture has 1200


def order_of(messages, **fields) -> Order:
    body = {"model": "vanilla", "messages": messages} | fields
    return read_order(parse_request(json.dumps(body).encode()), LIMITS)


def refusal_of(messages, **fields) -> Refusal:
    with pytest.raises(Refusal) as caught:
        order_of(messages, **fields)
    return caught.value


def say(role: str, *texts: str, pictures=()) -> dict:
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + b64encode(data).decode()}}
             for data in pictures]
    return {"role": role, "content": [*parts, *({"type": "text", "text": text} for text in texts)]}


def test_turns_pair_questions_with_answers_and_the_last_is_open():
    sample = order_of([say("user", "a"), say("assistant", "b"), say("user", "c")]).sample
    assert sample.turns == (Turn("a", "b"), Turn("c"))
    assert sample.id == sample_id((), sample.turns)


def test_system_messages_stand_before_the_first_question():
    messages = [say("system", "Be brief."), say("developer", "In English."), say("user", "What?")]
    assert order_of(messages).sample.turns == (Turn("Be brief.\n\nIn English.\n\nWhat?"),)


def test_neighbours_of_one_role_are_one_turn():
    messages = [say("user", "a"), say("user", "b", "c"), say("assistant", "d"), say("user", "e")]
    assert order_of(messages).sample.turns == (Turn("a\n\nb\n\nc", "d"), Turn("e"))


def test_pictures_keep_their_order_and_their_bytes():
    sample = order_of([say("user", "Compare.", pictures=(RED, BLUE))]).sample
    assert sample.media == (RED, BLUE)
    other = order_of([say("user", "Compare.", pictures=(BLUE, RED))]).sample
    assert other.id != sample.id


def test_sampling_is_taken_over():
    asked = {"temperature": 0.5, "top_p": 0.9, "top_k": 7, "seed": -3, "max_tokens": 12, "ignore_eos": True}
    assert order_of([say("user", "a")], **asked).sampling == Sampling(0.5, 7, 0.9, -3, 12, True)
    assert order_of([say("user", "a")], top_k=-1).sampling.top_k == 0


def test_stop_strings_travel_with_the_order():
    assert order_of([say("user", "a")]).stop == ()
    assert order_of([say("user", "a")], stop="END").stop == ("END",)
    assert order_of([say("user", "a")], stop=["\n", "END"]).stop == ("\n", "END")


def shown(clip: str, *others: dict) -> list[dict]:
    return [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": clip}}, *others,
                                         {"type": "text", "text": "What happens?"}]}]


def test_clips_stand_among_the_pictures_in_order():
    picture = say("user", "a", pictures=(RED,))["content"][0]
    media = order_of(shown("data:video/mp4;base64,YQ==", picture)).sample.media
    assert media == (Clip(b"a", ServeSettings().clip_frames), RED)


@pytest.mark.parametrize(("clip", "status", "code"), [
    ("https://example.org/a.mp4", 400, "invalid_video_url"),
    ("data:image/png;base64,YQ==", 415, "unsupported_media_type"),
    ("data:video/mp4;base64,Y", 400, "invalid_base64")])
def test_what_is_no_clip_is_refused_in_one_line(clip, status, code):
    refusal = refusal_of(shown(clip))
    assert (refusal.status, refusal.code, refusal.param) == (status, code, "messages.0.content")


def test_sampling_defaults_are_openais_and_the_seed_is_drawn():
    first, second = (order_of([say("user", "a")]).sampling for _ in range(2))
    assert (first.temperature, first.top_k, first.top_p, first.max_new_tokens) == (1.0, 0, 1.0, 100)
    assert first.seed != second.seed


def test_max_completion_tokens_is_the_newer_name():
    assert order_of([say("user", "a")], max_completion_tokens=5).sampling.max_new_tokens == 5


@pytest.mark.parametrize(("messages", "fields", "message"), [
    ([say("system", "a")], {}, "the last message must have role `user`"),
    ([say("user", "a"), say("assistant", "b")], {}, "the last message must have role `user`"),
    ([say("assistant", "a"), say("user", "b")], {}, "the first message after the system's must have role `user`"),
    ([say("user", "a"), say("system", "b"), say("user", "c")], {}, "system messages must come first"),
    ([say("user", "a"), say("assistant", "b"), say("user", "c", pictures=(RED,))], {},
     "pictures and clips must be in the first user message"),
    ([say("system", "a", pictures=(RED,)), say("user", "b")], {},
     "pictures and clips must be in the first user message"),
    ([say("user", "a", pictures=(RED, RED, RED))], {}, "3 pictures and clips in one request; at most 2 are accepted"),
    ([say("user", "a")], {"max_tokens": 101}, "`max_tokens` must lie in 1 … 100, not 101"),
    ([say("user", "a")], {"max_tokens": 5, "max_completion_tokens": 5},
     "give `max_completion_tokens` or `max_tokens`, not both"),
    ([say("user", "a", pictures=(b"not a picture",))], {},
     "`messages.0.content` is not a picture that can be read (JPEG, PNG, WEBP, GIF, BMP)"),
])
def test_what_cannot_be_served_is_refused_in_one_line(messages, fields, message):
    refusal = refusal_of(messages, **fields)
    assert (refusal.status, refusal.message) == (400, message)


def test_the_pixel_limit_counts_all_pictures_of_a_request():
    small = LIMITS.model_copy(update={"max_pixels": 2000})
    body = {"model": "vanilla", "messages": [say("user", "a", pictures=(RED, BLUE))]}
    with pytest.raises(Refusal, match="pixels") as caught:
        read_order(parse_request(json.dumps(body).encode()), small)
    assert caught.value.message == ("`messages.0.content`: the pictures of a request may have 2000 pixels "
                                    "together; this one makes it 2400")
