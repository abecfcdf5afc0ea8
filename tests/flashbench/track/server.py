"""A real MLflow server over a SQLite file, on a free port of the loopback."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS_TO_START = 120.0


@contextmanager
def serving(uri: str, folder: Path) -> Iterator[str]:
    """The server's address. What it says goes to `folder`/server.log."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri, "--workers", "1",
               "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True,
                                  env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true",
                                       "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"})
        try:
            _wait_for(f"http://127.0.0.1:{port}", server, folder / "server.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)  # with its workers; it only reads
            server.wait()


def _wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    give_up_at = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < give_up_at and server.poll() is None:
        try:
            urllib.request.urlopen(f"{address}/health", timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")
