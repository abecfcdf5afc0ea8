"""What a result was measured under, from the summary beside it, and in what two results differ.

It judges nothing: other conditions are told, because the ratio of times contains them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specflash.errors import UserError


def read_summary(path: Path) -> dict[str, Any]:
    """summary.json; empty where there is none. Raises UserError where it is damaged."""
    try:
        summary = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        summary = None
    if not isinstance(summary, dict):
        raise UserError(f"{path} is damaged; `specflash bench` writes it again from the rows that are there")
    return summary


def conditions_of(summary: Mapping[str, Any]) -> dict[str, str]:
    """By name, as text; what the summary does not tell is absent."""
    ran, fingerprint = _part(summary, "conditions"), _part(summary, "fingerprint")
    machine, versions = _part(fingerprint, "machine"), _part(_part(fingerprint, "code"), "versions")
    found = {**{name: ran.get(name) for name in ("dtype", "device", "threads")},
             **{name: machine.get(name) for name in ("cpu", "cores")}, "gpus": _names(machine.get("gpus")),
             **{name: versions.get(name) for name in ("torch", "transformers")},
             "target weights": fingerprint.get("target")}
    return {name: str(value) for name, value in found.items() if value is not None}


def temperature_of(summary: Mapping[str, Any]) -> float | None:
    """Of all its rows; None where it is not one number."""
    temperature = _part(summary, "conditions").get("temperature")
    return temperature if isinstance(temperature, int | float) else None


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """`name a → b` for whatever both tell and tell differently."""
    return [f"{name} {value} → {after[name]}" for name, value in before.items() if after.get(name, value) != value]


def _names(gpus: object) -> str | None:
    return (", ".join(map(str, gpus)) or "none") if isinstance(gpus, list) else None


def _part(tree: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = tree.get(name)
    return part if isinstance(part, dict) else {}
