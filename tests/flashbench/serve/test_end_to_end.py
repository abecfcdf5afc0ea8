"""The running server, tiny random models behind it, driven by the official `openai` client.

One server for the whole module. Its drafts are random, so nearly everything they propose is
rejected: what may not change is the text.
"""

import json
import time
from base64 import b64encode
from contextlib import closing

import openai
import pytest

from flashbench.serve import serving
from flashbench.settings import Settings
from specflash.drafts.store import make_draft, save_draft
from tests.tiny import make_sample, picture, tiny_target

pytestmark = pytest.mark.long(seconds=60)

METHODS = ("vanilla", "eagle", "specflash")
SHAPES = {"eagle": {"k": 3, "head_dim": 8, "inner": 16},
          "specflash": {"k": 3, "head_dim": 8, "latents": 2}}
SHORT, LONG = 24, 2000
RED = picture()


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tiny_target(tmp_path_factory.mktemp("target"))


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def url(target, run_folder):
    settings = Settings.model_validate({
        "name": "test", "run": run_folder, "dump": {"source": {"dataset": "llava-instruct"}}, "drafts": SHAPES,
        "bench": {"tasks": {"any": {"source": {"dataset": "photographs"}}}},
        "target": {"name": target.name, "weights": target.model.name_or_path, "device": "cpu"},
        "serve": {"port": 0, "methods": METHODS, "cpus_per_replica": 0.3, "max_new_tokens": LONG,
                  "max_prompt_tokens": 500}})
    for name, shape in SHAPES.items():
        save_draft(make_draft(name, shape, target.width), settings.draft_folder(name), target.name,
                   target.fingerprint)
    with serving(settings) as url:
        yield url


@pytest.fixture(scope="module")
def client(url):
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=60) as client:
        yield client


def asked(text: str = "What is it?", pictures=(RED,)) -> list:
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + b64encode(data).decode()}}
             for data in pictures]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": text}]}]


def ask(client, method: str, messages=None, **fields):
    return client.chat.completions.create(model=method, messages=messages or asked(),
                                          **{"temperature": 0, "max_tokens": SHORT} | fields)


def text_of(answer) -> str:
    return answer.choices[0].message.content


def seconds(call) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


def get(client, path: str) -> dict:
    return client.get("http://" + client.base_url.netloc.decode() + path, cast_to=dict)


def put(client, path: str, **body) -> dict:
    return client.put("http://" + client.base_url.netloc.decode() + path, body=body, cast_to=dict)


def health(client) -> dict:
    return get(client, "/healthz")["methods"]


def wait_until(true, seconds: float = 30) -> None:
    give_up_at = time.monotonic() + seconds
    while not true() and time.monotonic() < give_up_at:
        time.sleep(0.05)
    assert true()


CONVERSATIONS = {
    "a picture": asked(),
    "two pictures": asked("Compare.", (picture((0, 0, 200)), picture((0, 200, 0)))),
    "text alone": asked("Tell me more.", ()),
    "several turns": [{"role": "system", "content": "Be brief."}, *asked("First?"),
                      {"role": "assistant", "content": "One."}, {"role": "user", "content": "Second?"}],
}


def test_models_are_the_methods(client):
    assert [model.id for model in client.models.list()] == [*METHODS, "auto"]


@pytest.mark.parametrize("messages", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_the_same_greedy_request_gives_the_same_text_whoever_decodes(client, messages):
    answers = [ask(client, method, messages) for method in METHODS]
    assert len({text_of(answer) for answer in answers}) == 1
    assert len({answer.usage.completion_tokens for answer in answers}) == 1
    assert text_of(answers[0])


def test_usage_counts_tokens_as_the_target_does(client, target):
    length = target.encode(make_sample("What is it?")).length
    usage = ask(client, "specflash").usage
    assert usage.prompt_tokens == length
    assert usage.total_tokens == length + usage.completion_tokens


@pytest.mark.parametrize("method", METHODS)
def test_the_speculative_account_adds_up(client, method):
    answer = ask(client, method)
    account = answer.speculative
    assert account["method"] == method
    assert account["rounds"] == len(account["committed_by_round"]) == len(account["accepted_by_round"])
    assert 1 + sum(account["committed_by_round"]) == answer.usage.completion_tokens
    assert account["accepted"] == sum(account["accepted_by_round"]) <= account["drafted"]
    assert account["accept_length"] == pytest.approx(sum(account["committed_by_round"]) / account["rounds"])
    assert (account["drafted"] == 0) == (method == "vanilla")
    assert min(account["seconds"][phase] for phase in ("vision", "prefill", "verify")) > 0


@pytest.mark.parametrize("method", METHODS)
def test_a_stream_tells_the_same_text_and_the_same_account(client, method):
    whole = ask(client, method)
    *chunks, last = ask(client, method, stream=True, stream_options={"include_usage": True})
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == text_of(whole)
    assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason
    assert last.usage == whole.usage
    assert last.speculative["committed_by_round"] == whole.speculative["committed_by_round"]


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_reproduces_a_sampled_answer(client, method):
    first, again = (ask(client, method, temperature=1, seed=7) for _ in range(2))
    assert text_of(first) == text_of(again)
    assert len({text_of(ask(client, method, temperature=1, seed=seed)) for seed in range(7, 12)}) > 1


def test_the_seed_of_an_unseeded_answer_is_told_and_reproduces_it(client):
    first = ask(client, "specflash", temperature=1)
    assert text_of(ask(client, "specflash", temperature=1, seed=first.speculative["seed"])) == text_of(first)


def test_an_image_that_is_not_an_image_is_refused_clearly(client):
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, "specflash", asked(pictures=(b"not a picture",)))
    assert caught.value.body["message"] == (
        "`messages.0.content` is not a picture that can be read (JPEG, PNG, WEBP, GIF, BMP)")


def test_a_truncated_picture_is_refused_by_the_target_also_as_a_stream(client):
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as caught:
            ask(client, "specflash", asked(pictures=(picture()[:-40],)), stream=stream)
        assert caught.value.body["code"] == "invalid_prompt"


def test_a_prompt_that_is_too_long_is_refused(client):
    with pytest.raises(openai.BadRequestError, match="at most 500 are accepted"):
        ask(client, "vanilla", asked("x" * 600))


def test_an_unknown_model_is_404_and_lists_the_known(client):
    with pytest.raises(openai.NotFoundError) as caught:
        ask(client, "specflush")
    assert caught.value.body["message"] == (
        "unknown model `specflush` (did you mean `specflash`?); known: vanilla, eagle, specflash, auto")


@pytest.mark.parametrize("method", ["vanilla", "specflash"])
def test_a_client_that_leaves_a_stream_stops_the_generation(client, method):
    """A replica decodes one request at a time, so the next one waits until the first has stopped."""
    before = health(client)[method]["disconnected"]
    a_long_answer = seconds(lambda: ask(client, method)) * LONG / SHORT
    with closing(ask(client, method, max_tokens=LONG, stream=True)) as stream:
        next(iter(stream))
    assert seconds(lambda: ask(client, method, max_tokens=1)) < a_long_answer / 4
    assert health(client)[method]["disconnected"] == before + 1


def test_a_client_that_times_out_on_a_whole_answer_stops_the_generation(client):
    before = health(client)["eagle"]["disconnected"]
    with pytest.raises(openai.APITimeoutError):
        ask(client.with_options(timeout=0.5), "eagle", max_tokens=LONG)
    ask(client, "eagle", max_tokens=1)
    assert health(client)["eagle"]["disconnected"] == before + 1


def test_auto_answers_by_one_of_the_methods_and_a_campaign_pairs_it_with_another(client, run_folder):
    """Shadows run on other replicas, after the answers; the campaign is on disk when it is over."""
    assert put(client, "/ab/weights", weights={"vanilla": 1, "specflash": 1})["shares"]["eagle"] == 0
    put(client, "/ab/campaign", name="first", methods=["vanilla", "specflash"], max_pairs=6)
    answers = []
    for number in range(6):
        answers.append(ask(client, "auto", asked(f"What is {number}?", ()), user=f"user {number}", max_tokens=6))
        wait_until(lambda: get(client, "/ab/stats")["shadows"]["paired"] == len(answers))
    assert {answer.model for answer in answers} == {answer.speculative["method"] for answer in answers} == {
        "vanilla", "specflash"}
    (line,) = get(client, "/ab/stats")["pairs"]
    assert (line["method"], line["baseline"], line["pairs"], line["timed"]) == ("specflash", "vanilla", 6, 6)
    low, high = line["speedup_decode"]["interval"]
    assert low <= line["speedup_decode"]["value"] <= high
    assert line["accept_length"]["vanilla"]["value"] == line["identical_share"]["value"] == 1
    ended = json.loads((run_folder / "ab" / "first" / "campaign.json").read_text())
    assert (ended["ended"], ended["result"]["speedup_decode"]) == ("most pairs", line["speedup_decode"])


def test_nothing_is_left_running(client):
    assert all(tally["running"] == tally["failed"] == 0 for tally in health(client).values())
