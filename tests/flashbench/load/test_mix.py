"""The mixture: seeded, in its shares, and what it calls bad is refused as it says."""

import json
from collections import Counter

import pytest

from flashbench.load.mix import _bad, mixture, references
from flashbench.serve.chat import read_order
from flashbench.serve.refusal import Refusal
from flashbench.serve.schema import parse_request
from flashbench.settings import ServeSettings

METHODS = ("vanilla", "eagle", "specflash")


@pytest.fixture(scope="module")
def asks():
    return mixture(METHODS, 200, seed=3)


def test_the_same_seed_gives_the_same_requests(asks):
    assert mixture(METHODS, 200, seed=3) == asks
    assert mixture(METHODS, 200, seed=4) != asks


def test_every_kind_comes_in_its_share_and_every_method_as_often(asks):
    assert Counter(ask.kind for ask in asks) == {"greedy": 140, "sampled": 20, "leaving": 20, "bad": 20}
    assert sorted(Counter(ask.method for ask in asks).values()) == [66, 67, 67]
    assert len(mixture(METHODS, 7, seed=0)) == 7


def test_whoever_decodes_a_greedy_request_its_key_says_the_same(asks):
    by_key = {}
    for ask in asks:
        if ask.greedy:
            body = {key: value for key, value in json.loads(ask.body).items() if key not in ("model", "stream")}
            assert by_key.setdefault(ask.greedy, body) == body
            assert body["temperature"] == 0
    assert {ask.greedy for ask in references(asks, "vanilla")} == by_key.keys()
    assert all(json.loads(ask.body)["model"] == "vanilla" for ask in references(asks, "vanilla"))


def test_what_is_to_be_answered_can_be(asks):
    for ask in asks:
        if ask.kind != "bad":
            read_order(parse_request(ask.body), ServeSettings())


@pytest.mark.parametrize("ask", [ask for ask in _bad("eagle") if ask.status != 404], ids=lambda ask: ask.code)
def test_what_is_bad_is_refused_as_it_says(ask):
    with pytest.raises(Refusal) as caught:
        read_order(parse_request(ask.body), ServeSettings())
    assert (caught.value.status, caught.value.code) == (ask.status, ask.code)
