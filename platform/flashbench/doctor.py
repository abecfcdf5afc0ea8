"""What this machine has and what it lacks, and what to do about it. It changes nothing.

It imports nothing heavy at the top: with a broken installation it must still be able to say so.
"""

import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

import specflash
from flashbench.console import coloured, say, step, table
from specflash.errors import UserError

REPOSITORY = Path(__file__).resolve().parents[2]
WEIGHTS = Path(specflash.__file__).parent / "weights"
MEMORY_GB, DISK_GB = 12, 10
COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@dataclass(frozen=True)
class Finding:
    """state: ok, warn (works, but not as it should) or fail (the demo cannot run)."""

    check: str
    state: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""


def run_doctor() -> bool:
    """Print the table of findings; True when nothing that is needed is missing."""
    with step("looking at this machine"):
        findings = [finding for check in ALONE for finding in check()]
        if all(one.state != "fail" for one in findings):
            findings += [finding for check in WITH_PACKAGES for finding in check()]
    table("doctor", ("check", "", "found", "what to do"),
          [(one.check, coloured(one.state, COLOURS[one.state]), one.found, one.advice) for one in findings])
    failed = [one.check for one in findings if one.state == "fail"]
    say(f"missing: {', '.join(failed)}" if failed else "everything that is needed is here")
    return not failed


def python() -> Iterator[Finding]:
    found = ".".join(str(part) for part in sys.version_info[:3])
    ok = (3, 11) <= sys.version_info < (3, 13)
    yield Finding("python", "ok" if ok else "fail", found, "" if ok else "make .venv with Python 3.11 or 3.12")


def packages() -> Iterator[Finding]:
    """Direct dependencies must be there; a version other than the pinned one is worth a warning."""
    pins = _pins(REPOSITORY / "constraints.txt")
    installed = {name: _installed(name) for name in _direct_dependencies(REPOSITORY / "pyproject.toml")}
    missing = [name for name, found in installed.items() if found is None]
    others = [f"{name} {found} (pinned {pins[name]})" for name, found in installed.items()
              if found is not None and name in pins and found.partition("+")[0] != pins[name]]
    if missing:
        yield Finding("packages", "fail", f"missing: {', '.join(missing)}", "rm .venv/.installed && make .venv")
    elif others:
        yield Finding("packages", "warn", "; ".join(others), "pip install -c constraints.txt -e .")
    else:
        yield Finding("packages", "ok", f"{len(installed)} direct dependencies, as pinned")


def compiler() -> Iterator[Finding]:
    """DeepSpeed compiles some of its operators, on GPUs, when they are first used; nothing else does."""
    beside_python = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    for tool, advice in (("g++", "install a C++ compiler (apt install g++)"), ("ninja", "pip install ninja")):
        path = shutil.which(tool, path=beside_python)
        yield Finding(tool, "ok" if path else "warn", path or "not found", "" if path else advice)


def machine() -> Iterator[Finding]:
    import psutil
    cores = len(os.sched_getaffinity(0))
    yield Finding("cores", "ok" if cores >= 2 else "warn", str(cores), "" if cores >= 2 else "the demo is made for 2")
    memory = psutil.virtual_memory().available / 2**30
    yield Finding("memory", "ok" if memory >= MEMORY_GB else "warn", f"{memory:.1f} GB free",
                  "" if memory >= MEMORY_GB else f"the demo may need {MEMORY_GB} GB")
    disk = shutil.disk_usage(REPOSITORY).free / 2**30
    yield Finding("disk", "ok" if disk >= DISK_GB else "warn", f"{disk:.0f} GB free",
                  "" if disk >= DISK_GB else f"the demo may need {DISK_GB} GB")


def gpu() -> Iterator[Finding]:
    import torch
    count = torch.cuda.device_count()
    names = ", ".join(torch.cuda.get_device_name(index) for index in range(count))
    yield Finding("gpu", "ok", names or "none: everything runs on the CPU")


def models() -> Iterator[Finding]:
    from specflash.smol.language_model import gguf_file
    try:
        yield Finding("language model", "ok", gguf_file().name)
    except UserError as error:
        yield Finding("language model", "fail", "not installed", str(error))
    weights = sorted(path.parent.name for path in WEIGHTS.glob("*/*.safetensors"))
    yield Finding("embedded targets", "ok" if weights else "fail", ", ".join(weights) or f"none in {WEIGHTS}",
                  "" if weights else "git checkout -- specflash/weights")


def browser() -> Iterator[Finding]:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    yield Finding("browser", "ok", path or "none (optional: only for looking at reports)")


def ray_starts() -> Iterator[Finding]:
    """One task on a cluster of one CPU; its worker must find both packages and the standard `platform`."""
    import ray

    from flashbench.ray_session import local_ray

    @ray.remote(num_cpus=1)
    def worker() -> str:
        import platform

        import flashbench.settings  # noqa: F401
        import specflash.records  # noqa: F401
        return platform.system()

    try:
        with local_ray(num_cpus=1, num_gpus=0):
            yield Finding("ray", "ok", f"{ray.__version__}, a worker ran on {ray.get(worker.remote())}")
    except (UserError, RuntimeError, OSError, ray.exceptions.RayError) as error:
        yield Finding("ray", "fail", str(error).partition("\n")[0], "see the newest logs under /tmp/ray")


def _direct_dependencies(pyproject: Path) -> list[str]:
    wanted = map(Requirement, tomllib.loads(pyproject.read_text())["project"]["dependencies"])
    return [one.name for one in wanted if one.marker is None or one.marker.evaluate()]


def _pins(constraints: Path) -> dict[str, str]:
    lines = (line.partition("==") for line in constraints.read_text().splitlines() if not line.startswith("#"))
    return {name.lower(): pin for name, _, pin in lines}


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


Check = Callable[[], Iterator[Finding]]
ALONE: tuple[Check, ...] = (python, packages, compiler)
WITH_PACKAGES: tuple[Check, ...] = (machine, gpu, models, browser, ray_starts)
"""Checks that import what the first ones look for."""
