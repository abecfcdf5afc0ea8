"""`ray job submit` of the entry points in jobs/, on a cluster of our own: a head on free ports."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import pytest
import yaml

from flashbench.cli import main
from flashbench.dump.store import FeatureStore
from flashbench.prepare import run_prepare
from flashbench.settings import load_settings
from tests.tiny import save_tiny_llava

pytestmark = pytest.mark.long(seconds=110)

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SCENES = 8
TOKEN = token_hex(32)
START_S = 240  # a machine that is busy with other things starts a dashboard slowly
PORTS = ("port", "dashboard-port", "dashboard-agent-listen-port", "dashboard-agent-grpc-port",
         "metrics-export-port", "ray-client-server-port", "runtime-env-agent-port")


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture(scope="module")
def dashboard() -> Iterator[str]:
    """The address jobs are submitted to. The head and all it starts are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # a longer path breaks Ray's sockets
    ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    with (folder / "head.log").open("w") as log:
        head = subprocess.Popen(
            [BIN / "ray", "start", "--head", "--block", "--num-cpus=2", "--num-gpus=0", "--include-dashboard=true",
             "--dashboard-host=127.0.0.1", "--min-worker-port=0", "--max-worker-port=0",
             f"--object-store-memory={200 * 2**20}", f"--temp-dir={folder}",
             *(f"--{name}={port}" for name, port in ports.items())],
            env=environment(), stdout=log, stderr=log, start_new_session=True)
    try:
        wait_until_started(head, folder / "head.log")
        yield f"http://127.0.0.1:{ports['dashboard-port']}"
    finally:
        end(head)
        shutil.rmtree(folder)


def environment() -> dict[str, str]:
    """Of a shell in which this Python comes first, and which holds the head's token."""
    mine = {name: value for name, value in os.environ.items() if name not in ("RAY_ADDRESS", "PYTHONPATH")}
    return {**mine, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DASHBOARD_STARTUP_TIMEOUT_S": str(START_S), "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
            "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}


def wait_until_started(head: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while "Ray runtime started" not in log.read_text():
        assert head.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)


def end(head: subprocess.Popen) -> None:
    """Ask the head to take its processes down, then kill what is left of its process group."""
    head.terminate()
    try:
        head.wait(30)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(head.pid, signal.SIGKILL)
        head.wait()


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    """An experiment of seconds: a tiny random target, a few drawn scenes, absolute paths."""
    folder = tmp_path_factory.mktemp("job")
    source = {"dataset": "llava-instruct", "path": str(folder / "run/data"), "split": "train"}
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump({
        "name": "tiny", "run": str(folder / "run"), "scenes": {"train": SCENES, "test": 1},
        "target": {"name": "llava-1.5", "weights": str(save_tiny_llava(folder / "weights")), "dtype": "float32"},
        "dump": {"source": source, "actors": 1, "decoders": 1},
        "train": {"workers": 1, "epochs": 1, "batch": 2, "held_out": 0.25, "precision": "float32"},
        "drafts": {"eagle": {"k": 2}},
        "bench": {"tasks": {"instruct": {"source": {**source, "split": "test"}}}}}))
    run_prepare(load_settings(path))
    return path


def submit(address: str, *entry: str) -> subprocess.CompletedProcess[str]:
    """The command of the README, to the letter, from the root of the repository."""
    return subprocess.run(
        [BIN / "ray", "job", "submit", "--address", address, "--working-dir", ".",
         "--runtime-env", "jobs/runtime_env.yaml", "--", "python", *entry],
        cwd=ROOT, env=environment(), text=True, capture_output=True, check=False)


@pytest.mark.timeout(600)
def test_dump_and_train_run_as_jobs(dashboard, config):
    run = load_settings(config).run

    dumped = submit(dashboard, "jobs/dump.py", "--config", str(config))
    assert dumped.returncode == 0, dumped.stdout + dumped.stderr
    assert "succeeded" in dumped.stdout
    assert len(FeatureStore(run / "features")) == SCENES

    trained = submit(dashboard, "jobs/train.py", "--config", str(config))
    assert trained.returncode == 0, trained.stdout + trained.stderr
    assert "succeeded" in trained.stdout
    assert (run / "drafts/eagle/model.safetensors").is_file()
    assert (run / "drafts/eagle/config.json").is_file()


def test_an_unknown_draft_is_refused_with_the_nearest(config, capsys):
    """After the dump above: a draft is looked up where there are features to train it on."""
    with pytest.raises(SystemExit, match="2"):
        main(["train", "--config", str(config), "--draft", "eagel"])
    error = capsys.readouterr().err
    assert "did you mean `eagle`?" in error
    assert error.splitlines()[-1].startswith("error: ")
