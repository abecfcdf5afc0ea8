"""What a result depends on: weights, settings, code, versions, machine. It measures nothing."""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import specflash
from flashbench.settings import Settings

LIBRARIES = ("specflash", "torch", "transformers", "ray", "deepspeed", "mlflow", "numpy")
GPU_FIELDS = ("name", "clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "driver_version")
DRAFT_FILES = ("config.json", "model.safetensors")


def digest(content: object) -> str:
    """16 hex digits of a JSON-able value."""
    return sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:16]


def draft_fingerprint(folder: Path) -> str:
    """Hash of a trained draft's configuration and weights."""
    return digest([file_digest(folder / name) for name in DRAFT_FILES])


def with_drafting(weights: str, drafting: object) -> str:
    """Fingerprint of a draft that drafts otherwise than it was saved to."""
    return f"{weights}.{digest(drafting)}"


def weights_in(fingerprint: str) -> str:
    """The part of a draft's fingerprint that its training left."""
    return fingerprint.partition(".")[0]


@cache
def engine_fingerprint() -> str:
    """Hash of the algorithms' source, the weights that ship with them, and the libraries under them.

    Rows measured by other code are not mixed with new ones.
    """
    root = Path(specflash.__file__).parent
    files = [path for path in sorted(root.rglob("*")) if path.suffix in (".py", ".safetensors", ".json")]
    contents = [(str(path.relative_to(root)), file_digest(path)) for path in files]
    return digest([contents, version("torch"), version("transformers")])


@cache
def describe_machine() -> dict[str, Any]:
    """What stays the same as long as the machine does."""
    import torch  # here: nothing else in this module needs it
    gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {"cpu": _cpu_name(), "cores": os.cpu_count(), "instructions": torch.backends.cpu.get_cpu_capability(),
            "gpus": gpus, "system": platform.platform(terse=True), "python": platform.python_version()}


def accelerator(machine: Mapping[str, Any]) -> str:
    """What computed on a machine that `describe_machine` described: its GPUs, or where there is none its CPU."""
    return ", ".join(machine["gpus"]) or machine["cpu"]


def machine_state() -> dict[str, Any]:
    """What changes while it works: load, clocks, heat. A clock that cannot be read is None."""
    return {"load": load_average(), "cpu_mhz": _cpu_mhz(), "gpus": _gpu_state()}


def describe_code(settings: Settings) -> dict[str, Any]:
    return {"commit": _commit(), "engine": engine_fingerprint(),
            "settings": digest(settings.model_dump(mode="json")),
            "versions": {name: version(name) for name in LIBRARIES}}


def load_average() -> float:
    """Runnable processes over the last minute."""
    return round(os.getloadavg()[0], 2)


def _commit() -> str:
    """The checked-out commit, `+` appended where files differ from it; `unknown` outside git."""
    root = Path(specflash.__file__).parents[1]
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, text=True,
                          capture_output=True).stdout.strip()


def _cpu_name() -> str:
    names = _cpuinfo("model name")
    return names[0] if names else platform.processor() or platform.machine()


def _cpu_mhz() -> float | None:
    """Mean over the cores, at this moment."""
    clocks = [float(clock) for clock in _cpuinfo("cpu MHz")]
    return round(sum(clocks) / len(clocks), 1) if clocks else None


def _cpuinfo(field: str) -> list[str]:
    """The field of every core."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(field)]


def _gpu_state() -> list[dict[str, str]]:
    """Of each GPU what NVIDIA's own tool reads; empty where there is none."""
    if shutil.which("nvidia-smi") is None:
        return []
    asked = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader"],
                           check=False, text=True, capture_output=True)
    lines = asked.stdout.splitlines() if asked.returncode == 0 else []
    return [dict(zip(GPU_FIELDS, map(str.strip, line.split(",")), strict=False)) for line in lines]
