"""The routes over a fake decoder: shapes, refusals, and what a failure or a disconnect leaves behind."""

import json
from base64 import b64encode

import pytest
from fastapi.testclient import TestClient

import specflash
from flashbench.serve.ab.live import Live, Place
from flashbench.serve.api import build_api
from flashbench.serve.events import Committed, Finished, Refused, Started
from flashbench.serve.refusal import Refusal
from flashbench.settings import ServeSettings
from tests.tiny import picture

LIMITS = ServeSettings(max_new_tokens=64, max_body_mb=1)
HELLO = [{"role": "user", "content": "Hello"}]
SECONDS = {"prefill": 0.5, "draft": 0.25}
ANSWER = (Started(7), Committed((5,), "A", 0, 0, ("A",)), Committed((6, 7, 8), "bc", 4, 2, ("b", "c", "")),
          Committed((9,), "", 4, 0, ("",)),
          Finished("é", "stop", (2, 0), (4, 4), (3, 1), SECONDS))


class Script:
    """A decoder that tells fixed events; an exception among them is raised."""

    def __init__(self, *events):
        self.events = events
        self.orders = []

    async def decode(self, order):
        self.orders.append(order)
        for event in self.events:
            if isinstance(event, Exception):
                raise event
            yield event


@pytest.fixture
def decoders():
    return {"vanilla": Script(*ANSWER), "specflash": Script(*ANSWER),
            "picky": Script(Refused("the prompt has 9 tokens", "context_length_exceeded")),
            "broken": Script(Refusal(503, "`broken` failed to answer", code="decoder_failed")),
            "breaking": Script(*ANSWER[:2], Refusal(503, "`breaking` failed to answer", code="decoder_failed")),
            "buggy": Script(ZeroDivisionError("secret detail"))}


@pytest.fixture
def client(decoders, tmp_path):
    live = Live(decoders, LIMITS.ab, Place(tmp_path, flush=None))
    return TestClient(build_api(decoders, LIMITS, "llava-smol", live), raise_server_exceptions=False)


def chat(client, model="specflash", **fields):
    return client.post("/v1/chat/completions", json={"model": model, "messages": HELLO, "seed": 3} | fields)


def chunks(response) -> list:
    lines = response.text.split("\n\n")
    assert lines.pop() == ""
    assert all(line.startswith("data: ") for line in lines)
    return [line[6:] if line == "data: [DONE]" else json.loads(line[6:]) for line in lines]


SPECULATIVE = {"method": "specflash", "seed": 3, "rounds": 2, "drafted": 8, "accepted": 2, "accept_length": 2.0,
               "accepted_by_round": [2, 0], "committed_by_round": [3, 1], "seconds": SECONDS}
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def test_a_whole_answer_has_openais_shape_and_the_account(client):
    answer = chat(client).json()
    assert answer.pop("id").startswith("chatcmpl-")
    assert answer.pop("created") > 1_700_000_000
    assert answer == {
        "object": "chat.completion", "model": "specflash", "usage": USAGE, "speculative": SPECULATIVE,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Abcé", "refusal": None},
                     "logprobs": None, "finish_reason": "stop"}]}


def test_a_stream_is_role_text_by_rounds_finish_usage_done(client):
    response = chat(client, stream=True, stream_options={"include_usage": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    *events, usage, done = chunks(response)
    assert [event["choices"][0]["delta"] for event in events] == [
        {"role": "assistant", "content": ""}, {"content": "A"}, {"content": "bc"}, {"content": "é"}, {}]
    assert [event["choices"][0]["finish_reason"] for event in events] == [None] * 4 + ["stop"]
    assert {event["object"] for event in [*events, usage]} == {"chat.completion.chunk"}
    assert len({event["id"] for event in [*events, usage]}) == 1
    assert (usage["choices"], usage["usage"], usage["speculative"]) == ([], USAGE, SPECULATIVE)
    assert done == "[DONE]"


def test_a_stream_has_a_usage_chunk_only_when_asked(client):
    assert not any("usage" in chunk for chunk in chunks(chat(client, stream=True))[:-1])


def test_a_stream_tells_its_rounds_only_when_asked(client):
    assert not any("speculative" in chunk for chunk in chunks(chat(client, stream=True))[:-1])
    told = chunks(chat(client, stream=True, stream_options={"include_rounds": True}))[:-1]
    rounds = [(chunk["choices"][0]["delta"]["content"], chunk["speculative"])
              for chunk in told if "speculative" in chunk]
    assert rounds == [("A", {"round": 0, "drafted": 0, "kept": 0, "pieces": ["A"]}),
                      ("bc", {"round": 1, "drafted": 4, "kept": 2, "pieces": ["b", "c", ""]}),
                      ("", {"round": 2, "drafted": 4, "kept": 0, "pieces": [""]})]  # a round without text is one too
    assert [chunk["choices"][0]["delta"].get("content") for chunk in told][-2] == "é"


def test_every_chunk_of_text_has_the_usage_so_far_only_when_asked(client):
    told = chunks(chat(client, stream=True, stream_options={"continuous_usage_stats": True}))[:-1]
    usages = [(chunk["choices"][0]["delta"]["content"], chunk["usage"]["completion_tokens"])
              for chunk in told if "usage" in chunk]
    assert usages == [("A", 1), ("bc", 4), ("é", 5)]
    assert all(chunk["usage"]["total_tokens"] == 7 + tokens
               for chunk, (_, tokens) in zip((chunk for chunk in told if "usage" in chunk), usages, strict=True))


def test_the_order_reaches_the_method_that_was_named(client, decoders):
    chat(client, model="vanilla", temperature=0, max_tokens=9)
    (order,) = decoders["vanilla"].orders
    assert (order.sampling.temperature, order.sampling.max_new_tokens) == (0, 9)
    assert not decoders["specflash"].orders


PICTURE_AND_TEXT = [{"role": "user", "content": [
    {"type": "text", "text": "What is it?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64," + b64encode(picture()).decode()}}]}]


@pytest.mark.parametrize("body", [
    {"max_completion_tokens": 9, "stop": None, "ignore_eos": True,
     "stream_options": {"include_usage": True, "continuous_usage_stats": True}},  # GuideLLM
    {"max_completion_tokens": 9, "temperature": 0.0, "repetition_penalty": 1.0, "ignore_eos": True,
     "stream_options": {"include_usage": True}},  # `vllm bench serve --backend openai-chat --ignore-eos`
], ids=["guidellm", "vllm"])
def test_load_generators_are_understood(client, decoders, body):
    events = chunks(chat(client, messages=PICTURE_AND_TEXT, stream=True, **body))
    assert events[-1] == "[DONE]"
    assert events[-2]["usage"] == USAGE
    (order,) = decoders["specflash"].orders
    assert (order.sampling.max_new_tokens, order.sampling.ignore_eos, len(order.sample.media)) == (9, True, 1)


def test_models_are_the_methods(client):
    listed = client.get("/v1/models").json()
    assert [model["id"] for model in listed["data"]] == [
        "vanilla", "specflash", "picky", "broken", "breaking", "buggy", "auto"]
    assert client.get("/v1/models/vanilla").json() == listed["data"][0]
    assert client.get("/v1/models/x").status_code == 404


def test_version_and_health(client):
    assert client.get("/version").json()["version"] == specflash.__version__
    assert client.get("/version").json()["target"] == "llava-smol"
    assert client.get("/healthz").json()["status"] == "ok"
    assert client.get("/health").json() == client.get("/healthz").json()


def picture_part(url: str) -> list:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


def data_url(data: bytes) -> str:
    return "data:image/png;base64," + b64encode(data).decode()


@pytest.mark.parametrize(("fields", "status", "param", "code", "message"), [
    ({"model": "specflush"}, 404, "model", "model_not_found",
     "unknown model `specflush` (did you mean `specflash`?); known: vanilla, specflash, picky, broken, breaking, "
     "buggy, auto"),
    ({"messages": []}, 400, "messages", "invalid_value",
     "`messages`: list should have at least 1 item after validation, not 0"),
    ({"max_tokens": 65}, 400, "max_tokens", "invalid_value", "`max_tokens` must lie in 1 … 64, not 65"),
    ({"messages": picture_part("http://host/a.png")}, 400, "messages.0.content", "invalid_image_url",
     "`messages.0.content`: `http:` URLs are not accepted; send the image itself as data:image/…;base64,…"),
    ({"messages": picture_part("data:text/plain;base64,YQ==")}, 415, "messages.0.content", "unsupported_media_type",
     "`messages.0.content`: media type `text/plain` is not of the form image/…"),
    ({"messages": picture_part(data_url(b"GIF89 not"))}, 400, "messages.0.content", "invalid_image",
     "`messages.0.content` is not a picture that can be read (JPEG, PNG, WEBP, GIF, BMP)"),
    ({"model": "picky"}, 400, "messages", "context_length_exceeded", "the prompt has 9 tokens"),
    ({"model": "picky", "stream": True}, 400, "messages", "context_length_exceeded", "the prompt has 9 tokens"),
])
def test_a_refusal_has_its_status_and_openais_error_shape(client, fields, status, param, code, message):
    response = chat(client, **fields)
    assert response.status_code == status
    assert response.json() == {"error": {"message": message, "type": "invalid_request_error",
                                         "param": param, "code": code}}


def test_a_body_over_the_limit_is_413(client):
    response = chat(client, messages=[{"role": "user", "content": "x" * 2**20}])
    assert response.status_code == 413
    assert response.json()["error"]["message"] == "the body is larger than 1 MiB"


def test_other_routes_and_methods_are_refused_in_the_same_shape(client):
    assert client.get("/v1/nothing").json()["error"]["message"] == "GET /v1/nothing: not found"
    response = client.get("/v1/chat/completions")
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert response.json()["error"]["message"] == "GET /v1/chat/completions: method not allowed"


@pytest.mark.parametrize("stream", [False, True])
def test_a_replica_that_fails_at_once_is_503(client, stream):
    response = chat(client, model="broken", stream=stream)
    assert response.status_code == 503
    assert response.json()["error"]["type"] == "server_error"


def test_a_replica_that_fails_in_mid_stream_ends_it_with_an_error_event(client):
    *_, last = chunks(chat(client, model="breaking", stream=True))
    assert last["error"]["code"] == "decoder_failed"


def test_a_bug_is_500_and_tells_no_detail(client):
    response = chat(client, model="buggy")
    assert response.status_code == 500
    assert response.json()["error"]["message"] == "the server failed; its log says why"


def test_health_tells_what_became_of_the_requests(client):
    for model in ("vanilla", "vanilla", "picky", "broken", "breaking", "buggy"):
        chat(client, model=model)
    methods = client.get("/healthz").json()["methods"]
    nothing = {"running": 0, "finished": 0, "refused": 0, "failed": 0, "disconnected": 0}
    assert methods["vanilla"] == nothing | {"finished": 2}
    assert methods["picky"] == nothing | {"refused": 1}
    assert methods["broken"] == methods["breaking"] == methods["buggy"] == nothing | {"failed": 1}
    assert methods["specflash"] == nothing


def test_a_picture_reaches_the_decoder_as_it_was_sent(client, decoders):
    assert chat(client, messages=picture_part(data_url(picture()))).status_code == 200
    assert decoders["specflash"].orders[0].sample.media == (picture(),)
