"""Training state kept by Ray Train: DeepSpeed's own files and the curves so far. It knows no draft.

Every rank saves its share of the ZeRO state into a folder of its own; Ray Train merges them.
These are a run's private working files (pickled by DeepSpeed); what is passed on is the exported
draft, which is safetensors.
"""

import json
import tempfile
from pathlib import Path

import ray.train
from ray.train import Checkpoint

TAG = "state"
CURVES = "curves.json"


def save(engine, curves: list[dict], metrics: dict[str, float]) -> None:
    """Save and report; a barrier that every rank must reach."""
    with tempfile.TemporaryDirectory() as folder:
        engine.save_checkpoint(folder, tag=TAG)
        (Path(folder) / CURVES).write_text(json.dumps(curves))
        ray.train.report(metrics, checkpoint=Checkpoint.from_directory(folder))


def restore(engine) -> list[dict]:
    """Continue from the last checkpoint of this run, if there is one; returns the curves so far.

    Afterwards `engine.global_steps` says how many optimiser steps are done.
    """
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is None:
        return []
    with checkpoint.as_directory() as folder:
        loaded, _ = engine.load_checkpoint(folder, tag=TAG)
        assert loaded is not None, f"the checkpoint in {folder} does not load"
        return json.loads((Path(folder) / CURVES).read_text())
