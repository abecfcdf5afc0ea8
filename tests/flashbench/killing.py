"""A stage in a process group of its own, killed in the middle of its work."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from flashbench.settings import Settings, save_settings

ROOT = Path(__file__).resolve().parents[2]
# The alarm ends it where the test is itself killed and nobody is left to do so.
SCRIPT = ("import pkgutil, signal, sys; signal.alarm(int(sys.argv[3])); from flashbench.settings import load_settings; "
          "pkgutil.resolve_name(sys.argv[1])(load_settings(sys.argv[2]))")


def run_until(half_done: Callable[[], bool], stage: str, settings: Settings, folder: Path, seconds: int,
              look_every: float) -> None:
    """Run `stage` (module:function) on the settings, and `kill -9` it and its children when it is half done.

    seconds  it may take to get there
    """
    save_settings(settings, folder / "settings.yaml")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'platform'}"}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, stage, str(folder / "settings.yaml"),
                                str(seconds + 60)], env=environment, start_new_session=True)
    try:
        deadline = time.monotonic() + seconds
        while not half_done():
            assert process.poll() is None, f"{stage} ended by itself"
            assert time.monotonic() < deadline, f"{stage} was not half done in time"
            time.sleep(look_every)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
