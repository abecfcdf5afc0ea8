"""What a result depends on: weights, settings, code, versions, machine. It measures nothing."""

import json
import os
import platform
import subprocess
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import specflash
from flashbench.settings import Settings

LIBRARIES = ("specflash", "torch", "transformers", "ray", "deepspeed", "mlflow")
DRAFT_FILES = ("config.json", "model.safetensors")


def digest(content: object) -> str:
    """16 hex digits of a JSON-able value."""
    return sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:16]


def draft_fingerprint(folder: Path) -> str:
    """Hash of a trained draft's configuration and weights."""
    return digest([file_digest(folder / name) for name in DRAFT_FILES])


@cache
def engine_fingerprint() -> str:
    """Hash of the algorithms' source, the weights that ship with them, and the libraries under them.

    Rows measured by other code are not mixed with new ones.
    """
    root = Path(specflash.__file__).parent
    files = [path for path in sorted(root.rglob("*")) if path.suffix in (".py", ".safetensors", ".json")]
    contents = [(str(path.relative_to(root)), file_digest(path)) for path in files]
    return digest([contents, version("torch"), version("transformers")])


def describe_machine() -> dict[str, Any]:
    return {"cpu": _cpu_name(), "cores": os.cpu_count(), "system": platform.platform(terse=True),
            "python": platform.python_version()}


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
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
