"""The checked request body: what is taken, what is refused, and in which words."""

import json

import pytest

from flashbench.serve.refusal import Refusal
from flashbench.serve.schema import parse_request

HELLO = [{"role": "user", "content": "Hello"}]


def body(**fields) -> bytes:
    return json.dumps({"model": "vanilla", "messages": HELLO} | fields).encode()


def refusal_of(raw: bytes) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse_request(raw)
    return caught.value


def test_openai_defaults_hold_where_nothing_is_said():
    request = parse_request(body())
    assert (request.temperature, request.top_p, request.seed) == (None, None, None)
    assert not request.stream
    assert not request.told.include_usage


def test_content_is_a_string_or_parts():
    parts = [{"type": "text", "text": "What"}, {"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}},
             {"type": "text", "text": "is it?"}]
    message = parse_request(body(messages=[{"role": "user", "content": parts}])).messages[0]
    assert message.texts == ("What", "is it?")
    assert [shown.url for shown in message.media] == ["data:,"]
    assert parse_request(body()).messages[0].texts == ("Hello",)


def test_stop_is_a_string_or_up_to_four():
    assert parse_request(body(stop="END")).stop == ["END"]
    assert parse_request(body(stop=["a", "b", "c", "d"])).stop == ["a", "b", "c", "d"]
    assert parse_request(body(stop=[])).stop == []


def test_an_answer_may_be_sent_back_as_the_client_got_it():
    answer = {"role": "assistant", "content": "Hi", "refusal": None, "annotations": None, "audio": None,
              "function_call": None, "tool_calls": None}
    assert parse_request(body(messages=[*HELLO, answer, *HELLO])).messages[1].texts == ("Hi",)


@pytest.mark.parametrize("fields", [
    {"metadata": {"a": "b"}, "store": False},
    {"n": 1, "stop": None, "presence_penalty": 0, "frequency_penalty": 0.0, "logprobs": False, "tools": []},
    {"response_format": {"type": "text"}, "temperature": None, "stream_options": None},
    {"repetition_penalty": 1.0, "min_p": 0.0, "min_tokens": 0, "ignore_eos": False, "skip_special_tokens": True},
])
def test_fields_that_change_nothing_are_taken(fields):
    assert parse_request(body(**fields)) == parse_request(body())


@pytest.mark.parametrize(("fields", "param", "code", "message"), [
    ({"n": 2}, "n", "unsupported_parameter", "`n` is not supported here; leave it out"),
    ({"stop": ["."] * 5}, "stop", "invalid_value",
     "`stop`: list should have at most 4 items after validation, not 5"),
    ({"stop": ["a", ""]}, "stop.1", "invalid_value", "`stop.1`: string should have at least 1 character"),
    ({"stop": ""}, "stop", "invalid_value", "`stop`: string should have at least 1 character"),
    ({"stop": 5}, "stop", "invalid_value", "`stop`: input should be a valid list"),
    ({"temprature": 0}, "temprature", "unknown_parameter", "unknown field `temprature` (did you mean `temperature`?)"),
    ({"temperature": "hot"}, "temperature", "invalid_value", "`temperature`: input should be a valid number"),
    ({"temperature": 2.5}, "temperature", "invalid_value", "`temperature`: input should be less than or equal to 2"),
    ({"top_p": 0}, "top_p", "invalid_value", "`top_p`: input should be greater than 0"),
    ({"top_k": -2}, "top_k", "invalid_value", "`top_k`: input should be greater than or equal to -1"),
    ({"max_tokens": 0}, "max_tokens", "invalid_value", "`max_tokens`: input should be greater than or equal to 1"),
    ({"max_tokens": 1.5}, "max_tokens", "invalid_value", "`max_tokens`: input should be a valid integer"),
    ({"seed": 2**63}, "seed", "invalid_value", f"`seed`: input should be less than {2**63}"),
    ({"stream": "yes"}, "stream", "invalid_value", "`stream`: input should be a valid boolean"),
    ({"stream_options": {"usage": True}}, "stream_options.usage", "unknown_parameter",
     "unknown field `stream_options.usage`"),
    ({"messages": []}, "messages", "invalid_value",
     "`messages`: list should have at least 1 item after validation, not 0"),
    ({"messages": "Hello"}, "messages", "invalid_value", "`messages`: input should be a valid list"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role", "invalid_value",
     "`messages.0.role`: input should be 'system', 'developer', 'user' or 'assistant'"),
    ({"messages": [{"role": "user"}]}, "messages.0.content", "missing_required_parameter",
     "`messages.0.content` is missing"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages.0.content", "invalid_value",
     "`messages.0.content`: input should be a valid string"),
    ({"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]}, "messages.0.content.0.text",
     "invalid_value", "`messages.0.content.0.text`: input should be a valid string"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
     "messages.0.content.0.image_url.url", "missing_required_parameter",
     "`messages.0.content.0.image_url.url` is missing"),
    ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages.0.content.0", "invalid_value",
     "`messages.0.content.0`: input tag 'video' found using 'type' does not match any of the expected tags: "
     "'text', 'image_url', 'video_url'"),
])
def test_a_wrong_field_is_named_in_one_line(fields, param, code, message):
    refusal = refusal_of(body(**fields))
    assert refusal == Refusal(400, message, param, code)


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b'{"model": NaN}', b'{"model": "\\ud800"}', b"[" * 100_000],
                         ids=["empty", "cut", "bytes", "nan", "surrogate", "deep"])
def test_what_is_not_json_is_refused(raw):
    refusal = refusal_of(raw)
    assert (refusal.status, refusal.code) == (400, "invalid_json")
    assert "\n" not in refusal.message


def test_a_body_must_be_an_object():
    assert refusal_of(b"[]").message == "the body must be a JSON object"


def test_a_missing_model_is_named():
    assert refusal_of(json.dumps({"messages": HELLO}).encode()).message == "`model` is missing"


def test_the_error_body_has_openais_shape():
    assert Refusal(400, "no", "seed", "invalid_value").body() == {
        "error": {"message": "no", "type": "invalid_request_error", "param": "seed", "code": "invalid_value"}}
    assert Refusal(503, "no").body()["error"]["type"] == "server_error"
