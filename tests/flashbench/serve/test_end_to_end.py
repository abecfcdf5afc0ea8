"""The running server, tiny random models behind it, driven by the official `openai` client.

One server for the whole module. Its drafts are random, so nearly all they propose is rejected: what may not
change is the text. The last tests kill a replica, deploy the application anew and end it.
"""

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import openai
import pytest

from flashbench.load import run_load
from flashbench.serve import run as serve_run
from flashbench.serve.metrics import OUTCOMES, series
from flashbench.settings import LoadSettings
from tests.browser import opened
from tests.flashbench.serve.running import (
    CONVERSATIONS,
    KEY,
    LONG,
    METHODS,
    MIDDLE,
    QUEUE,
    SHORT,
    ask,
    asked,
    busy,
    get,
    health,
    put,
    replica_of,
    replicas,
    scrape,
    seconds,
    text_of,
    wait_until,
)
from tests.tiny import make_sample, picture

pytestmark = pytest.mark.long(seconds=200)


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


def test_the_wrong_key_opens_nothing(client):
    with pytest.raises(openai.AuthenticationError) as caught:
        ask(client.with_options(api_key="wrong"), "vanilla")
    assert caught.value.body["code"] == "invalid_api_key"


@pytest.mark.parametrize("method", METHODS)
def test_a_stop_string_ends_the_answer_at_the_same_token_whoever_decodes(client, method):
    text = text_of(ask(client, "vanilla"))
    stop = [text[5:7], "never said"]
    vanilla = ask(client, "vanilla", stop=stop)
    whole = ask(client, method, stop=stop)
    *chunks, last = ask(client, method, stop=stop, stream=True, stream_options={"include_usage": True})
    assert text_of(whole) == text[:text.index(stop[0])]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text_of(whole)
    assert whole.choices[0].finish_reason == chunks[-1].choices[0].finish_reason == "stop"
    assert whole.usage == last.usage == vanilla.usage


def test_a_full_queue_answers_429_with_the_seconds_to_wait(client):
    """One request is decoded, QUEUE wait; all are let go afterwards."""
    with ThreadPoolExecutor(QUEUE) as pool, closing(ask(client, "eagle", max_tokens=LONG, stream=True)) as running:
        waiting = [pool.submit(ask, client, "eagle", max_tokens=1) for _ in range(QUEUE)]
        wait_until(lambda: health(client)["eagle"]["running"] == QUEUE + 1)
        with pytest.raises(openai.RateLimitError) as caught:
            ask(client, "eagle")
        assert int(caught.value.response.headers["retry-after"]) >= 1
        assert caught.value.body["code"] == "queue_full"
        running.close()
        assert all(future.exception() is None for future in waiting)


def test_a_small_load_breaks_no_law(client, served, settings, capsys):
    load = LoadSettings(requests=30, concurrency=8, deadline_s=60, repeats=2)
    assert run_load(settings.model_copy(update={"load": load}), served.url), capsys.readouterr().out
    result = json.loads((settings.run / "load.json").read_text())
    assert result["ends"]["greedy"] == {"answered": 21}
    assert result["ends"]["bad"] == {"refused": 3}
    assert len(result["memory"]) >= 5  # proxy, controller, ingress, replicas
    assert result["overhead"]["http_s"] > result["overhead"]["in_process_s"] > 0


def test_the_methods_race_in_the_arena(served, browser):
    with opened(browser, served.url) as shown:
        page = shown.page
        page.wait_for_selector("#go:enabled")
        page.fill("#tokens", "16")
        page.evaluate("key => { document.querySelector('#key').value = key; }", KEY)  # shown after a 401
        page.click("#go")
        page.wait_for_selector("#summary tbody tr", timeout=60_000)
        texts = page.locator(".column .tokens").all_text_contents()
        assert len(texts) == len(METHODS)
        assert len(set(texts)) == 1
        assert texts[0]
        assert shown.complaints == []


def test_prometheus_gets_series_for_every_query_of_the_board_and_the_rules(client, settings):
    for method in METHODS:
        ask(client, method, temperature=1)  # random laws are alike enough for some tokens to be accepted
    scraped = scrape(settings.run, series())
    for name in ("ray_specflash_num_requests_waiting", "ray_specflash_num_requests_running"):
        assert {labels["method"] for labels in scraped[name]} == set(METHODS)
    for name in series():
        for labels in scraped[name]:
            assert labels["target"] == "llava-1.5"
            assert labels["method"] in METHODS
    drafting = scraped["ray_specflash_spec_decode_num_drafts_total"]
    assert {labels["method"] for labels in drafting} == {"eagle", "specflash"}
    assert {labels["outcome"] for labels in scraped["ray_specflash_requests_total"]} <= set(OUTCOMES)


def test_auto_answers_by_one_of_the_methods_and_a_campaign_pairs_it_with_another(client, settings):
    """Shadows run on other replicas, after the answers; the campaign is on disk when it is over."""
    assert put(client, "/ab/weights", weights={"vanilla": 1, "specflash": 1})["shares"]["eagle"] == 0
    put(client, "/ab/campaign", name="first", methods=["vanilla", "specflash"], max_pairs=6)
    answers = []
    for number in range(6):
        answers.append(ask(client, "auto", asked(f"What is {number}?", ()), user=f"user {number}", max_tokens=6))
        wait_until(lambda: get(client, "/ab/stats")["shadows"]["paired"] == len(answers))
    who = {answer.model for answer in answers}
    assert who == {answer.speculative["method"] for answer in answers} == {"vanilla", "specflash"}
    (line,) = get(client, "/ab/stats")["pairs"]
    assert (line["method"], line["baseline"], line["pairs"], line["timed"]) == ("specflash", "vanilla", 6, 6)
    low, high = line["speedup_decode"]["interval"]
    assert low <= line["speedup_decode"]["value"] <= high
    assert line["accept_length"]["vanilla"]["value"] == line["identical_share"]["value"] == 1
    ended = json.loads((settings.run / "ab" / "first" / "campaign.json").read_text())
    assert (ended["ended"], ended["result"]["speedup_decode"]) == ("most pairs", line["speedup_decode"])


def test_nothing_is_left_running(client):
    assert all(tally["running"] == tally["failed"] == 0 for tally in health(client).values())


def test_a_killed_replica_costs_its_own_client_an_error_and_comes_back(client, served):
    long = {"max_tokens": MIDDLE, "stream": True}
    with closing(ask(client, "eagle", **long)) as broken, closing(ask(client, "vanilla", **long)) as other:
        for stream in (broken, other):
            next(iter(stream))
        os.kill(replica_of(served, "eagle"), signal.SIGKILL)
        with pytest.raises(openai.APIError) as caught:
            list(broken)
        assert caught.value.body["code"] == "decoder_failed"
        assert "`eagle` failed to answer" in caught.value.message
        *_, last = other
        assert last.choices[0].finish_reason in ("stop", "length")
    assert text_of(ask(client, "eagle")) == text_of(ask(client, "vanilla"))
    assert health(client)["eagle"]["failed"] == 1


def test_a_redeploy_cuts_no_stream_and_the_shared_layout_grows_and_shrinks_with_its_load(client, settings):
    expected = {method: text_of(ask(client, method)) for method in METHODS}
    whole = text_of(ask(client, "vanilla", max_tokens=MIDDLE))
    shared = settings.model_copy(update={"serve": settings.serve.model_copy(update={
        "layout": "shared", "max_replicas": 2, "cpus_per_replica": 0.05, "target_ongoing": 1.0,
        "upscale_delay_s": 0.5, "downscale_delay_s": 1.0, "look_back_s": 1.0})})
    stream = iter(ask(client, "vanilla", max_tokens=MIDDLE, stream=True))
    next(stream)
    serve_run._deploy(shared)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == whole

    assert {method: text_of(ask(client, method)) for method in METHODS} == expected
    assert replicas("shared") == 1
    with busy(client, "specflash", 4):
        wait_until(lambda: replicas("shared") == 2)
    wait_until(lambda: replicas("shared") == 1)
    assert text_of(ask(client, "eagle")) == expected["eagle"]


def test_at_the_end_running_answers_are_finished_and_waiting_ones_are_told(client, served):
    whole = text_of(ask(client, "vanilla", max_tokens=MIDDLE))
    running = iter(ask(client, "vanilla", max_tokens=MIDDLE, stream=True))
    next(running)
    ending = threading.Thread(target=served.stop)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(ask, client, "vanilla") for _ in range(3)]
        wait_until(lambda: sum(tally["running"] for tally in health(client).values()) == 4)
        ending.start()
        try:
            for future in waiting:
                error = future.exception()
                assert isinstance(error, openai.InternalServerError), error
                assert (error.status_code, error.body["code"]) == (503, "shutting_down")
            for _ in range(3):  # and so are those who come later, while an answer is still being finished
                with pytest.raises(openai.InternalServerError, match="shutting down"):
                    ask(client, "eagle")
                time.sleep(0.1)
            assert "".join(chunk.choices[0].delta.content or "" for chunk in running) == whole
        finally:
            ending.join()
