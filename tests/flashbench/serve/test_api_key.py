"""The optional key: who gets in, what the others are told, and where it may come from."""

import pytest
from fastapi.testclient import TestClient

from flashbench.serve.api import build_api
from flashbench.serve.api_key import KeyDoor, read_key
from flashbench.settings import ServeSettings
from specflash.errors import UserError


@pytest.fixture(scope="module")
def client():
    api = build_api({}, ServeSettings(), "llava-smol")
    api.add_middleware(KeyDoor, key="s3cret")
    return TestClient(api)


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"},
                                    {"Authorization": "Bearer s3cret2"}, {"Authorization": b"Bearer \xe9"}])
@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions", "/ab/stats", "/docs"])
def test_without_the_key_nothing_is_told(client, path, header):
    response = client.post(path, headers=header, content=b"{" * 1000)
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    assert response.json() == {"error": {
        "message": "this server wants an API key: send the header `Authorization: Bearer KEY` with the right one",
        "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}}


def test_with_the_key_all_is_as_without_one(client):
    assert client.get("/v1/models", headers={"Authorization": "Bearer s3cret"}).json()["data"] == []


def test_health_and_version_need_no_key(client):
    assert client.get("/healthz").status_code == client.get("/version").status_code == 200


def test_the_key_comes_from_the_environment(monkeypatch):
    assert read_key(None) is None
    monkeypatch.setenv("OUR_KEY", "s3cret")
    assert read_key("OUR_KEY") == "s3cret"
    monkeypatch.setenv("OUR_KEY", "")
    with pytest.raises(UserError, match=r"OUR_KEY, which is not set: `export OUR_KEY=…` first"):
        read_key("OUR_KEY")
