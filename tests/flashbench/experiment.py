"""A whole experiment in small: a tiny target, two random drafts, and pictures on disk in COCO's format."""

import json
from pathlib import Path
from typing import Any

import torch

from flashbench.settings import Settings
from specflash.drafts.store import make_draft, save_draft
from specflash.targets import target_fingerprint
from tests.tiny import picture, save_tiny_llava

WIDTH = 32
DRAFTS = {"eagle": {"k": 3, "head_dim": 16}, "specflash": {"k": 2, "latents": 2, "head_dim": 16}}


def make_experiment(root: Path, prompts: int = 3, verify: dict[str, Any] | None = None) -> Settings:
    """Settings whose drafts are saved already, as if they had been trained."""
    weights = root / "target"
    save_tiny_llava(weights)
    _write_pictures(root / "data", prompts + 2)
    source = {"dataset": "coco-captions", "path": root / "data", "split": "test", "limit": prompts}
    settings = Settings.model_validate({
        "name": "tiny", "run": root / "run", "threads": 1, "drafts": DRAFTS,
        "target": {"name": "llava-1.5", "weights": str(weights), "dtype": "bfloat16", "device": "cpu"},
        "dump": {"source": source},
        "verify": verify or {"max_new_tokens": 8, "temperatures": []},
        "bench": {"tasks": {"captions": {"source": source, "max_new_tokens": 10}}, "warmups": 1,
                  "noise_band": 9.0},  # answers of milliseconds say nothing about the machine
        "track": {"uri": None}})
    torch.manual_seed(0)
    for name, config in DRAFTS.items():
        draft = make_draft(name, config, WIDTH)
        save_draft(draft, settings.draft_folder(name), "llava-1.5", target_fingerprint("llava-1.5", str(weights)))
    return settings


def _write_pictures(folder: Path, count: int) -> None:
    (folder / "val2017").mkdir(parents=True)
    names = [f"{number}.png" for number in range(count)]
    for number, name in enumerate(names):
        (folder / "val2017" / name).write_bytes(picture((40 * number % 256, 90, 200 - 30 * number % 200)))
    images = [{"id": number, "file_name": name} for number, name in enumerate(names)]
    (folder / "annotations").mkdir()
    (folder / "annotations" / "captions_val2017.json").write_text(json.dumps({"images": images, "annotations": []}))
