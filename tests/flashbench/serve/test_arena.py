"""The arena's routes: where they lead, what they forbid, and pictures that never change."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from dashboards.arena import FOLDER
from flashbench.serve.ab.live import Live, Place
from flashbench.serve.api import build_api
from flashbench.serve.pictures import count_pixels
from flashbench.serve.samples import SCENES, picture_of, sample_pictures
from flashbench.settings import ServeSettings
from specflash.data.drawn import LAST_SEED, SPLIT_SEEDS, scene_seeds


@pytest.fixture(scope="module")
def client():
    decoders, limits = {"vanilla": None, "specflash": None}, ServeSettings(max_new_tokens=64)
    live = Live(decoders, limits.ab, Place(Path("nowhere"), flush=None))
    return TestClient(build_api(decoders, limits, "llava-smol", live))


def test_the_root_leads_to_the_page_and_the_page_to_its_files(client):
    page = client.get("/")
    assert page.url.path == "/arena"
    linked = re.findall(r'(?:href|src)="(arena/[^"]+)"', page.text)
    imported = {f"arena/{name}" for file in FOLDER.glob("*.js")
                for name in re.findall(r'from "./(.+?)"', file.read_text())}
    assert linked and imported
    for name in {*linked, *imported}:
        assert client.get(f"/{name}").status_code == 200, name


def test_nothing_may_come_from_outside_or_from_within_the_page(client):
    policy = client.get("/arena").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert not re.search(r"<style|style=|<script(?! type=\"module\" src=)|https?://", client.get("/arena").text)
    assert client.get("/arena/arena.js").headers["x-content-type-options"] == "nosniff"


def test_the_setup_is_what_the_page_has_to_know(client):
    setup = client.get("/arena/setup").json()
    assert [method["name"] for method in setup["methods"]] == ["vanilla", "specflash"]
    assert (setup["target"], setup["max_new_tokens"]) == ("llava-smol", 64)
    assert [sample["file"] for sample in setup["samples"]][: len(SCENES)] == [f"{place}.jpg" for place in SCENES]


def test_every_sample_is_a_picture_that_the_server_takes_and_stays_the_same(client):
    for sample in sample_pictures():
        got = client.get(f"/arena/samples/{sample.file}")
        assert got.headers["content-type"] == "image/jpeg"
        assert count_pixels(got.content, "here") > 0
        assert got.content == picture_of(sample.file)


def test_no_run_trains_on_a_sample_scene_or_is_measured_on_one():
    assert min(SCENES.values()) >= scene_seeds("test", SPLIT_SEEDS, LAST_SEED).stop


@pytest.mark.parametrize("path", ["/arena/arena.py", "/arena/__init__.py", "/arena/samples/x.jpg",
                                  "/arena/..%2f__init__.py", "/arena/samples/..%2fbeach.jpg"])
def test_there_is_no_other_file(client, path):
    assert client.get(path).status_code == 404
