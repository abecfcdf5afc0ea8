"""Training with real Ray Train workers and DeepSpeed: it learns, exports, survives kills, reuses."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from flashbench.dump.store import FeatureStore
from flashbench.ray_session import local_ray
from flashbench.settings import Settings, save_settings
from flashbench.train.loop import LoopConfig
from flashbench.train.run import Job, TrainSummary, fit, job_of, run_train
from specflash.drafts.store import load_draft
from specflash.errors import UserError
from tests.flashbench.train.conftest import VOCABULARY, WIDTH, make_experiment
from tests.tiny import tiny_target

pytestmark = pytest.mark.long(seconds=230)

EPOCHS = 3


@pytest.fixture(scope="module")
def workers():
    with local_ray(num_cpus=2):
        yield


@pytest.fixture(scope="module")
def plain(workers, weights, tmp_path_factory) -> tuple[Settings, TrainSummary]:
    """An uninterrupted training with ZeRO 1 and two workers."""
    settings = make_experiment(weights, tmp_path_factory.mktemp("plain"), epochs=EPOCHS)
    return settings, run_train(settings, ["specflash"])[0]


def record_of(settings: Settings) -> dict:
    return json.loads((settings.draft_folder("specflash") / "training.json").read_text())


def weights_of(settings: Settings) -> dict[str, torch.Tensor]:
    return load_file(settings.draft_folder("specflash") / "model.safetensors")


def job(settings: Settings) -> tuple[Job, FeatureStore]:
    store = FeatureStore(settings.dump_folder)
    return job_of(settings, store, "specflash"), store


def test_the_held_out_loss_falls_and_slots_become_right(plain):
    settings, summary = plain
    curves = record_of(settings)["curves"]
    assert [curve["epoch"] for curve in curves] == [1, 2, 3]
    assert curves[-1]["held_out_loss"] < 0.8 * curves[0]["held_out_loss"]
    assert summary.held_out_loss == curves[-1]["held_out_loss"]
    assert summary.simulated_accept_length > 2


def test_every_sample_is_trained_once_per_epoch(plain):
    settings, summary = plain
    record = record_of(settings)
    assert record["samples"] + record["held_out"] == len(FeatureStore(settings.dump_folder))
    per_epoch = -(-record["samples"] // (2 * settings.train.batch))
    assert [curve["steps"] for curve in record["curves"]] == [per_epoch, 2 * per_epoch, 3 * per_epoch]
    assert summary.steps == 3 * per_epoch


def test_the_export_loads_and_holds_no_table_of_the_target(plain, weights):
    settings, summary = plain
    tensors = weights_of(settings)
    assert (VOCABULARY, WIDTH) not in {tuple(tensor.shape) for tensor in tensors.values()}
    draft = load_draft(summary.folder, tiny_target(weights))
    assert sum(parameter.numel() for parameter in draft.parameters()) == summary.parameters
    assert len(draft.vocabulary_ids) == 40


def test_a_finished_draft_is_reused_and_nothing_is_written(plain, capfd):
    settings, summary = plain
    before = {path: path.stat().st_mtime_ns for path in summary.folder.iterdir()}
    again = run_train(settings, ["specflash"])[0]
    assert again.reused
    assert not summary.reused
    assert again.steps == summary.steps
    assert {path: path.stat().st_mtime_ns for path in summary.folder.iterdir()} == before
    assert "is finished: reused" in capfd.readouterr().err


def test_other_settings_do_not_get_the_old_draft(plain):
    settings, _ = plain
    changed = settings.model_copy(update={"train": settings.train.model_copy(update={"lr": 1e-4})})
    with pytest.raises(UserError, match=r"train\.lr"):
        run_train(changed, ["specflash"])


def test_a_killed_worker_is_replaced_and_zero_3_ends_where_zero_1_does(plain, weights, tmp_path):
    """A worker is killed after the first checkpoint; the group starts again from there."""
    settings = make_experiment(weights, tmp_path, epochs=EPOCHS, zero_stage=3)
    marker = tmp_path / "killed"

    def loop(config: LoopConfig) -> None:
        import ray.train

        from flashbench.train import checkpoint, loop
        save = checkpoint.save

        def save_then_die(engine, curves, metrics):
            save(engine, curves, metrics)
            if ray.train.get_context().get_world_rank() == 1 and not marker.exists():
                time.sleep(2)  # for the controller to take the report
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)

        checkpoint.save = save_then_die
        try:
            loop.train_loop(config)
        finally:
            checkpoint.save = save

    fit(settings, *job(settings), loop=loop)
    assert marker.exists()
    left, right = record_of(plain[0])["curves"], record_of(settings)["curves"]
    assert [curve["steps"] for curve in left] == [curve["steps"] for curve in right]
    for name in ("loss", "held_out_loss"):
        assert [curve[name] for curve in right] == pytest.approx([curve[name] for curve in left], rel=1e-2)


DRIVER = """
import os, sys, time
from pathlib import Path
from flashbench.dump.store import FeatureStore
from flashbench.ray_session import ray_session
from flashbench.settings import load_settings
from flashbench.train.run import fit, job_of

pids = Path(sys.argv[2])

def loop(config):
    from flashbench.train import checkpoint, loop
    (pids / str(os.getpid())).touch()
    save = checkpoint.save
    def save_then_wait(engine, curves, metrics):
        save(engine, curves, metrics)
        time.sleep(600)
    checkpoint.save = save_then_wait
    loop.train_loop(config)

settings = load_settings(sys.argv[1])
store = FeatureStore(settings.dump_folder)
with ray_session(settings, num_cpus=2):
    fit(settings, job_of(settings, store, "specflash"), store, loop=loop)
"""


@pytest.mark.timeout(900)
def test_a_killed_training_continues_and_ends_with_the_same_weights(plain, weights, tmp_path):
    """kill -9 of the driver and everything it started, after the first checkpoint."""
    settings = make_experiment(weights, tmp_path / "run", epochs=EPOCHS)
    kill_after_first_checkpoint(settings, tmp_path)
    assert not settings.draft_folder("specflash").exists()
    summary = run_train(settings, ["specflash"])[0]
    assert not summary.reused
    assert summary.steps == plain[1].steps
    resumed, uninterrupted = record_of(settings), record_of(plain[0])
    assert resumed["recipe"] == uninterrupted["recipe"]
    assert [curve["loss"] for curve in resumed["curves"]] == [curve["loss"] for curve in uninterrupted["curves"]]
    left, right = weights_of(settings), weights_of(plain[0])
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


def kill_after_first_checkpoint(settings: Settings, folder: Path) -> None:
    (folder / "pids").mkdir()
    save_settings(settings, folder / "settings.yaml")
    with (folder / "driver.log").open("wb") as log:
        driver = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(folder / "settings.yaml"), str(folder / "pids")],
            start_new_session=True, stdout=log, stderr=log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RAY_ADDRESS": "local"})
    try:
        wait_for(lambda: checkpoints_registered(settings) or driver.poll() is not None, 300)
        assert driver.poll() is None, (folder / "driver.log").read_text()[-3000:]
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    pids = [int(path.name) for path in (folder / "pids").iterdir()]
    assert len(pids) == 2
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 120)


def checkpoints_registered(settings: Settings) -> int:
    snapshots = list((settings.run / "checkpoints").glob("*/checkpoint_manager_snapshot.json"))
    if not snapshots:
        return 0
    return len(json.loads(snapshots[0].read_text() or "{}").get("checkpoint_results", []))


def wait_for(condition, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s"
        time.sleep(0.1)
