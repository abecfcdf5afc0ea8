"""One server for all tests of a module, and a client of it."""

import openai
import pytest

from flashbench.serve import run_serve
from flashbench.serve.scrape import FILE
from flashbench.settings import Settings
from specflash.drafts.store import make_draft, save_draft
from tests.flashbench.serve.running import KEY, KEY_NAME, LONG, METHODS, QUEUE, QUICK_AUTOSCALER, SHAPES
from tests.tiny import tiny_target


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tiny_target(tmp_path_factory.mktemp("target"))


@pytest.fixture(scope="module")
def settings(target, tmp_path_factory):
    settings = Settings.model_validate({
        "name": "test", "run": tmp_path_factory.mktemp("run"), "dump": {"source": {"dataset": "llava-instruct"}},
        "bench": {"tasks": {"any": {"source": {"dataset": "photographs"}}}}, "drafts": SHAPES,
        "target": {"name": target.name, "weights": target.model.name_or_path, "device": "cpu"},
        "serve": {"port": 0, "methods": METHODS, "cpus_per_replica": 0.2, "max_new_tokens": LONG,
                  "max_prompt_tokens": 500, "max_queue": QUEUE, "api_key_env": KEY_NAME}})
    for name, shape in SHAPES.items():
        save_draft(make_draft(name, shape, target.width), settings.draft_folder(name), target.name,
                   target.fingerprint)
    return settings


@pytest.fixture(scope="module")
def served(settings):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ({KEY_NAME: KEY, "RAY_metrics_report_interval_ms": "500"} | QUICK_AUTOSCALER).items():
            patch.setenv(name, value)
        served = run_serve(settings, blocking=False)
        yield served
        served.stop()
    assert not (settings.run / FILE).exists()


@pytest.fixture(scope="module")
def client(served):
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key=KEY, max_retries=0, timeout=60) as client:
        yield client
