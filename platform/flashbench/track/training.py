"""A training as an entry: its settings, and its curves epoch by epoch. Every figure is the record's own."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flashbench.fingerprint import DRAFT_FILES, digest, draft_fingerprint
from flashbench.settings import Settings
from flashbench.track.entry import Entry, as_params, as_tags
from flashbench.track.send import send


def log_training(settings: Settings, draft: str, curves: Sequence[Mapping[str, Any]]) -> list[str]:
    """One run of a draft's training; returns the line that says what MLflow did not take (none: it took all).

    curves  one mapping per epoch: `epoch` (its step) and named metrics; a list becomes one metric
            per place, `slot_accuracy_0`, `slot_accuracy_1`, …
    """
    return send(settings, [training_entry(settings, draft, curves)])


def training_entry(settings: Settings, draft: str, curves: Sequence[Mapping[str, Any]]) -> Entry:
    folder = settings.draft_folder(draft)
    made = all((folder / name).is_file() for name in DRAFT_FILES)
    fingerprint = draft_fingerprint(folder) if made else None
    return Entry(
        key=digest([settings.name, draft, fingerprint, curves]), name=f"train · {draft}",
        at=_written_at(folder / DRAFT_FILES[0]) if made else round(1000 * time.time()),
        seconds=sum(epoch.get("seconds", 0) for epoch in curves),
        tags=as_tags({"kind": "training", "draft": draft, "experiment": settings.name, "target": settings.target.name,
                      **({"draft_fingerprint": fingerprint} if fingerprint else {})}),
        params=as_params({"draft": draft, **settings.drafts.get(draft, {}),
                          **settings.train.model_dump(mode="json")}),
        points=[(name, float(value), epoch["epoch"]) for epoch in curves for name, value in _flat(epoch).items()])


def _flat(epoch: Mapping[str, Any]) -> dict[str, float]:
    flat = {}
    for name, value in epoch.items():
        if name != "epoch":
            flat |= {f"{name}_{i}": part for i, part in enumerate(value)} if isinstance(value, list) else {name: value}
    return {name: value for name, value in flat.items() if value is not None}


def _written_at(path: Path) -> int:
    return round(1000 * path.stat().st_mtime)
