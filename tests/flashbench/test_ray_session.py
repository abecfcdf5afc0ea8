"""A stage's Ray: started where none is, joined where one is, and only what was started ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import ray

import flashbench
import specflash
from flashbench import ray_session as module
from flashbench.ray_session import _check_gpus, _start, local_ray, ray_session, threads_for
from flashbench.settings import Settings, load_settings
from specflash.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = load_settings(ROOT / "jobs/configs/demo.yaml")
BEFORE = dict(os.environ)


@pytest.fixture(scope="module")
def session():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OMP_NUM_THREADS", raising=False)
        patch.delenv("RAY_ADDRESS", raising=False)
        with ray_session(SETTINGS, num_cpus=2, num_gpus=0):
            yield
    assert not ray.is_initialized()


@ray.remote
def seen_by_a_worker() -> dict[str, str]:
    import platform

    import flashbench
    import specflash
    return {"flashbench": flashbench.__file__, "specflash": specflash.__file__, "system": platform.system(),
            "PYTHONPATH": os.environ["PYTHONPATH"], "threads": os.environ["OMP_NUM_THREADS"],
            "programs": os.environ["PATH"].partition(os.pathsep)[0]}


def test_workers_find_the_drivers_packages_and_programs(session):
    seen = ray.get(seen_by_a_worker.options(num_cpus=1).remote())
    assert seen["flashbench"] == flashbench.__file__
    assert seen["specflash"] == specflash.__file__
    assert seen["PYTHONPATH"].split(os.pathsep)[:2] == [str(ROOT), str(ROOT / "platform")]
    assert seen["programs"] == str(Path(sys.executable).parent)
    assert seen["system"] == "Linux"


@pytest.mark.parametrize(("cpus", "threads"), [(0.5, 1), (1, 1), (2, 2)])
def test_a_worker_gets_the_threads_of_its_cpus(session, cpus, threads):
    assert threads_for(cpus) == threads
    assert ray.get(seen_by_a_worker.options(num_cpus=cpus).remote())["threads"] == str(threads)


def test_the_driver_keeps_its_own_environment(session):
    assert {name: os.environ.get(name) for name in ("PYTHONPATH", "PATH", "RAY_USAGE_STATS_ENABLED")} == {
        name: BEFORE.get(name) for name in ("PYTHONPATH", "PATH", "RAY_USAGE_STATS_ENABLED")}


def test_it_has_what_was_asked_for_and_a_small_store(session):
    resources = ray.cluster_resources()
    assert resources["CPU"] == 2
    assert "GPU" not in resources
    assert resources["object_store_memory"] <= 500 * 2**20


def test_an_inner_session_leaves_the_outer_one_running(session, capsys):
    with ray_session(SETTINGS, num_cpus=3, num_gpus=1):
        pass
    assert ray.is_initialized()
    assert "asks for 3" in capsys.readouterr().err


def test_gpus_that_will_never_come_are_refused(session):
    with pytest.raises(UserError, match="asks for 2 GPUs and this machine has 0"):
        _check_gpus(2)
    _check_gpus(0)


def test_a_start_is_tried_again_and_then_given_up_in_one_line(monkeypatch, capsys):
    tried = []

    def fail(**options):
        tried.append(options)
        raise Exception("the head\ndid not come up")

    monkeypatch.setattr(ray, "init", fail)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with pytest.raises(UserError, match=r"does not start on this machine \(the head did not come up\)"):
        _start(num_cpus=1, num_gpus=0)
    assert len(tried) == 3
    assert capsys.readouterr().err.count("trying again") == 2


def test_what_a_failed_start_left_running_is_ended_and_nothing_else(monkeypatch):
    """Ray's processes alone, and only those of this attempt."""
    idle = "import time; time.sleep(60)"
    mine = subprocess.Popen([sys.executable, "-c", idle])
    left = []

    def fail(**options):
        left.append(subprocess.Popen([sys.executable, "-c", idle, f"{Path(ray.__file__).parent}/gcs_server"]))
        left.append(subprocess.Popen([sys.executable, "-c", idle]))  # started meanwhile by another thread, say
        raise Exception("too slow")

    monkeypatch.setattr(ray, "init", fail)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(module, "START_TRIES", 1)
    try:
        with pytest.raises(UserError, match="run the same command again later"):
            _start(num_cpus=1, num_gpus=0)
        rays, other = left
        assert rays.wait(10) == -signal.SIGKILL
        assert mine.poll() is other.poll() is None
    finally:
        for process in (mine, *left):
            process.kill()
            process.wait()


@pytest.mark.parametrize(("asked", "given"), [(1.5, 2), (0.3, 1), (2, 2), (2.0, 2)])
def test_a_cluster_of_our_own_has_whole_cpus(monkeypatch, asked, given):
    started = []
    monkeypatch.setattr(ray, "init", lambda **options: started.append(options))
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with local_ray(num_cpus=asked, num_gpus=0.5):
        pass
    assert [(options["num_cpus"], options["num_gpus"]) for options in started] == [(given, 1)]
    assert type(started[0]["num_cpus"]) is int


def test_a_given_cluster_is_joined_and_left_running(session):
    code = ("import ray; from flashbench.ray_session import ray_session; from tests.flashbench.test_ray_session "
            "import SETTINGS\nwith ray_session(SETTINGS, 1): print(ray.get_runtime_context().gcs_address)\n"
            "assert not ray.is_initialized()")
    address = ray.get_runtime_context().gcs_address
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True,
                           env={**os.environ, "RAY_ADDRESS": address, "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"})
    assert child.stdout.strip() == address
    assert ray.get(seen_by_a_worker.remote())["system"] == "Linux"


def test_a_dashboards_address_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:8265")
    with pytest.raises(UserError, match="unset it"), ray_session(SETTINGS, num_cpus=1):
        pass


def test_a_job_is_told_that_a_relative_run_folder_is_its_own(session, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: None)
    monkeypatch.setattr(ray, "shutdown", lambda: None)

    def told(settings: Settings) -> bool:
        with ray_session(settings, num_cpus=1):
            return "absolute path" in capsys.readouterr().err

    assert told(SETTINGS)
    assert not told(SETTINGS.model_copy(update={"run": tmp_path}))


@pytest.mark.parametrize("error", [ConnectionError("nobody\nthere"), RuntimeError("no GCS")])
def test_an_address_where_no_cluster_is_is_one_line(monkeypatch, error):
    def refuse(**_):
        raise error

    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    with (pytest.raises(UserError, match=r"RAY_ADDRESS=127.0.0.1:1 .*unset RAY_ADDRESS") as caught,
          ray_session(SETTINGS, num_cpus=1)):
        pass
    assert "\n" not in str(caught.value)
