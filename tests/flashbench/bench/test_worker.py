"""Two actors share the prompts: each is measured whole on one of them, and nothing twice."""

from collections import Counter

import pytest
import ray

from flashbench.bench import measure
from flashbench.bench.place import as_measured, on_ray
from flashbench.bench.rows import AGAIN, HF_GENERATE, VANILLA, read_rows
from flashbench.ray_session import ray_session
from tests.flashbench.experiment import make_experiment

pytestmark = pytest.mark.long(seconds=40)

METHODS = {VANILLA, AGAIN, "eagle", "specflash", HF_GENERATE}
PROMPTS, REPEATS = 4, 2


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    settings = make_experiment(tmp_path_factory.mktemp("experiment"), prompts=PROMPTS)
    settings = settings.model_copy(update={"bench": settings.bench.model_copy(update={
        "actors": 2, "cpus_per_actor": 0.5, "repeats": REPEATS})})
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        with ray_session(settings, num_cpus=1):
            summary = measure(settings)
    return summary, read_rows(settings.run / "bench" / "rows.parquet")


@pytest.mark.timeout(300)
def test_every_prompt_was_measured_whole_on_one_actor(measured):
    _, rows = measured
    by_prompt = {}
    for row in rows:
        by_prompt.setdefault(row["sample"], []).append(row)
    assert len(by_prompt) == PROMPTS
    for mine in by_prompt.values():
        assert len({row["worker"] for row in mine}) == 1
        assert Counter(row["method"] for row in mine) == dict.fromkeys(METHODS, REPEATS)


def test_both_actors_measured_and_nothing_twice(measured):
    summary, rows = measured
    assert len({row["worker"] for row in rows}) == 2
    answers = Counter((row["sample"], row["method"], row["repeat"]) for row in rows)
    assert set(answers.values()) == {1}
    assert summary["valid"], summary["refusals"]


def test_an_actor_has_the_threads_of_its_share(measured):
    assert {row["threads"] for row in measured[1]} == {1}
    assert (measured[0]["conditions"]["threads"], measured[0]["conditions"]["actors"]) == (1, 2)


def test_one_actor_without_gpu_on_this_machine_alone_is_this_process(tmp_path, monkeypatch):
    settings = make_experiment(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert not on_ray(settings)
    assert as_measured(settings) is settings
    for change in ({"actors": 2}, {"gpus_per_actor": 1}):
        assert on_ray(settings.model_copy(update={"bench": settings.bench.model_copy(update=change)}))
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert on_ray(settings)
    assert not ray.is_initialized()
