"""Where the runs are kept: the MLflow store that the settings or the environment name, written to by one process.

Without either it is a SQLite file inside the run folder, with the artifacts beside it.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flashbench.settings import Settings

SQLITE = "sqlite:///"
PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # the library's 7 wait minutes for a server that is away
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}
SILENCE = {"GIT_PYTHON_REFRESH": "quiet", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
SECONDS_TO_WAIT = 30.0
SECONDS_BETWEEN_LOOKS = 0.1


class Busy(OSError):
    """Another process is writing and did not end in time."""


def tracking_uri(settings: Settings) -> str:
    """The settings' own, else MLFLOW_TRACKING_URI, else a SQLite file inside the run folder."""
    own = f"{SQLITE}{(settings.run / 'mlflow.db').resolve()}"
    return settings.track.uri or os.environ.get("MLFLOW_TRACKING_URI") or own


def prepare_library() -> None:
    """MLflow's own defaults made patient and silent enough for a report; what the user exported stays."""
    for name, value in {**PATIENCE, **SILENCE}.items():
        os.environ.setdefault(name, value)


def artifact_place(settings: Settings) -> str | None:
    """Where a new experiment in a local store keeps its artifacts; None: a server decides."""
    local = tracking_uri(settings).startswith("sqlite:")
    return (settings.run / "mlartifacts").resolve().as_uri() if local else None


@contextmanager
def only_writer(settings: Settings) -> Iterator[None]:
    """Hold the lock of the store; SQLite takes one writer at a time. Raises Busy.

    A server orders its writers itself: there the lock is the run folder's, for what waits in it.
    """
    uri = tracking_uri(settings)
    place = Path(uri.removeprefix(SQLITE)) if uri.startswith(SQLITE) else settings.run / "mlflow"
    place.parent.mkdir(parents=True, exist_ok=True)
    give_up_at = time.monotonic() + SECONDS_TO_WAIT
    with place.with_name(f"{place.name}.lock").open("a") as lock:
        while not _taken(lock.fileno()):
            if time.monotonic() > give_up_at:
                raise Busy(f"another process is writing to {uri}")
            time.sleep(SECONDS_BETWEEN_LOOKS)
        yield


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
