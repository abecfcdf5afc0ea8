"""GET /ab/stats and the administration over HTTP: what works, what is refused and how, and who may."""

import json

import pytest
from fastapi.testclient import TestClient

from flashbench.serve.ab.live import Live, Place
from flashbench.serve.ab.routes import everybody
from flashbench.serve.api import build_api
from flashbench.settings import ServeSettings
from tests.flashbench.serve.ab.decoders import Gated

METHODS = ("vanilla", "eagle", "specflash")
LIMITS = ServeSettings(methods=METHODS)
HERE, ELSEWHERE = ("127.0.0.1", 5), ("10.0.0.7", 5)


async def taken(told):
    return []


@pytest.fixture
def live(tmp_path):
    decoders = {method: Gated() for method in METHODS}
    for decoder in decoders.values():
        decoder.gate.set()
    return Live(decoders, LIMITS.ab, Place(tmp_path, taken))


@pytest.fixture
def api(live):
    return build_api(live.decoders, LIMITS, "llava-smol", live)


@pytest.fixture
def client(api):
    with TestClient(api, client=HERE) as client:
        yield client


def ask(client, **fields):
    return client.post("/v1/chat/completions", json={
        "model": "auto", "messages": [{"role": "user", "content": "Hello"}], "temperature": 0} | fields).json()


def test_auto_says_who_answered_and_a_user_stays(client):
    answers = [ask(client, user="me") for _ in range(5)]
    assert {answer["model"] for answer in answers} == {answers[0]["speculative"]["method"]} <= set(METHODS)
    assert {ask(client, user=f"user {number}")["model"] for number in range(40)} == set(METHODS)
    assert {ask(client)["model"] for _ in range(40)} == set(METHODS)


def test_a_stream_says_who_answered_too(client):
    with client.stream("POST", "/v1/chat/completions", json={
            "model": "auto", "messages": [{"role": "user", "content": "Hello"}], "stream": True}) as stream:
        first = json.loads(next(stream.iter_lines()).removeprefix("data: "))
    assert first["model"] in METHODS


def test_weights_are_changed_without_a_restart(client):
    assert client.get("/ab/weights").json()["shares"] == dict.fromkeys(METHODS, 1 / 3)
    changed = client.put("/ab/weights", json={"weights": {"eagle": 3, "vanilla": 1}})
    assert changed.json() == client.get("/ab/weights").json() == {
        "weights": {"vanilla": 1.0, "eagle": 3.0, "specflash": 0.0},
        "shares": {"vanilla": 0.25, "eagle": 0.75, "specflash": 0.0}, "refused": None}
    client.put("/ab/weights", json={"weights": {"specflash": 1}})
    assert {ask(client, user=f"user {number}")["model"] for number in range(10)} == {"specflash"}


def test_a_deploy_changes_weights_and_a_wrong_one_changes_nothing_and_is_told(live, client):
    live.reconfigure({"weights": {"vanilla": 1, "eagle": 1}})
    before = client.get("/ab/weights").json()
    assert before["shares"] == {"vanilla": 0.5, "eagle": 0.5, "specflash": 0.0}
    for wrong, why in (({"weights": {"eagel": 1}}, "`weights` names `eagel`"),
                       ({"wieghts": {}}, "unknown key `user_config.wieghts` (did you mean `weights`?)"),
                       ({"shadow": {"method": "x", "share": 1}}, "`shadow.method` names `x`")):
        live.reconfigure(wrong)
        told = client.get("/ab/weights").json()
        assert told["refused"].startswith(why)
        assert told | {"refused": None} == before
    live.reconfigure({"weights": {"vanilla": 1}})
    assert client.get("/ab/weights").json()["refused"] is None


@pytest.mark.parametrize(("path", "body", "status", "param", "message"), [
    ("weights", {"weights": {"specflsh": 1}}, 400, "weights",
     "`weights` names `specflsh`, which is not served (did you mean `specflash`?); served: vanilla, eagle, specflash"),
    ("weights", {"weights": {"eagle": -1}}, 400, "weights.eagle",
     "`weights.eagle`: input should be greater than or equal to 0"),
    ("weights", {"weights": {"eagle": 0}}, 400, "weights", "one of `weights` must be above 0"),
    ("weights", {"weights": {}}, 400, "weights",
     "`weights`: dictionary should have at least 1 item after validation, not 0"),
    ("weights", {"weight": {"eagle": 1}}, 400, "weights", "`weights` is missing"),
    ("weights", [1], 400, None, "the body must be a JSON object"),
    ("campaign", {"name": "a", "methods": ["eagle", "eagle"]}, 400, "methods", "`methods` names one method twice"),
    ("campaign", {"name": "a", "methods": ["eagle", "x"]}, 400, "methods",
     "`methods` names `x`, which is not served; served: vanilla, eagle, specflash"),
    ("campaign", {"name": "../a", "methods": ["vanilla", "eagle"]}, 400, "name",
     "`name` takes letters, digits, `.`, `_` and `-`, at most 64, the first a letter or a digit"),
    ("campaign", {"name": "a", "methods": ["vanilla", "eagle"], "widht": 0.1}, 400, "widht",
     "unknown field `widht` (did you mean `width`?)"),
])
def test_a_mistake_is_told_in_openais_shape_and_changes_nothing(client, path, body, status, param, message):
    before = client.get("/ab/weights").json()
    answer = client.put(f"/ab/{path}", json=body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert (error["message"], error["param"], error["type"]) == (message, param, "invalid_request_error")
    assert client.get("/ab/weights").json() == before
    assert client.get("/ab/campaign").status_code == 404


def test_a_body_that_is_far_too_large_is_413(client):
    assert client.put("/ab/weights", content=b" " * 70_000).status_code == 413


@pytest.mark.parametrize(("method", "path"), [("PUT", "weights"), ("PUT", "campaign"), ("DELETE", "campaign")])
def test_only_clients_on_this_machine_may_change_something(api, method, path):
    answer = TestClient(api, client=ELSEWHERE).request(method, f"/ab/{path}", json={})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "local_only"


def test_where_the_key_decides_clients_elsewhere_may_too(live):
    client = TestClient(build_api(live.decoders, LIMITS, "llava-smol", live, everybody), client=ELSEWHERE)
    assert client.put("/ab/weights", json={"weights": {"eagle": 1}}).json()["shares"]["eagle"] == 1


def test_the_statistics_begin_with_nothing(client):
    stats = client.get("/ab/stats").json()
    assert (stats["pairs"], stats["differences"], stats["kept_per_pair"]) == ([], [], 500)
    assert set(stats["shadows"].values()) == {0}


def test_a_campaign_over_http(client):
    asked = {"name": "first", "methods": ["specflash", "vanilla"], "width": 0.2, "max_pairs": 9}
    told = client.put("/ab/campaign", json=asked).json()
    assert (told["baseline"], told["method"], told["ended"]) == ("vanilla", "specflash", None)
    again = client.put("/ab/campaign", json=asked | {"name": "second"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "campaign_running")
    assert client.delete("/ab/campaign").json()["ended"] == "stopped by hand"
    taken = client.put("/ab/campaign", json=asked)
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "campaign_exists")
