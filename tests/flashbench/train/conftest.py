"""A feature store whose answers can be learned, for a tiny target, and an experiment on it."""

from pathlib import Path

import pytest
import torch

from flashbench.dump.manifest import Manifest
from flashbench.dump.shards import Limits, ShardWriter, Writer
from flashbench.dump.source import write_source
from flashbench.settings import Settings
from specflash.records import Features
from specflash.targets import load_ends, target_fingerprint
from tests.tiny import save_tiny_llava

WIDTH, VOCABULARY, CYCLE, VISUAL = 32, 300, 7, 4
"""D and V of the tiny target; answers run round a cycle of tokens."""


@pytest.fixture(scope="session")
def weights(tmp_path_factory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture
def experiment(weights, tmp_path) -> Settings:
    return make_experiment(weights, tmp_path)


def make_experiment(weights: Path, run: Path, samples: int = 24, **train: object) -> Settings:
    """Settings with `samples` already dumped."""
    settings = settings_for(weights, run, **train)
    folder, fingerprint = settings.dump_folder, target_fingerprint("llava-1.5", str(weights))
    Manifest(target="llava-1.5", fingerprint=fingerprint, dtype="float32", max_length=64, width=WIDTH).claim(folder)
    shards = ShardWriter(folder, "piece", Limits(), Writer(pid=1, gpus=(), device="cpu"))
    table = load_ends("llava-1.5", str(weights)).lm_head
    for number in range(samples):
        shards.add(learnable_features(number, table))
    shards.flush()
    write_source(folder, settings.dump.source, shards.done)
    return settings


def settings_for(weights: Path, run: Path, **train: object) -> Settings:
    source = {"dataset": "coco-captions"}
    return Settings.model_validate({
        "name": "tiny", "run": run,
        "target": {"name": "llava-1.5", "weights": str(weights), "dtype": "float32", "device": "cpu"},
        "dump": {"source": source},
        "bench": {"tasks": {"captions": {"source": source}}},
        "drafts": {"specflash": {"k": 3, "latents": 2, "head_dim": 16, "vocabulary": 40},
                   "eagle": {"k": 3, "head_dim": 16}},
        "train": {"workers": 2, "epochs": 3, "batch": 2, "lr": 3e-2, "precision": "float32",
                  "held_out": 0.1, "noise": 0.001, **train},
    })


def learnable_features(number: int, lm_head: torch.Tensor) -> Features:
    """A picture of VISUAL tokens, a question of 3 to 5, an answer of 8 to 12 that follows the cycle.

    The feature of a position is the LM head's row of the next token, and a little noise.
    """
    generator = torch.Generator().manual_seed(number)
    question, answer = 3 + number % 3, 8 + number % 5
    said = (number + torch.arange(answer + 1)) % CYCLE + 100
    tokens = torch.cat([torch.full((VISUAL,), 3), torch.randint(10, 90, (question,), generator=generator), said])
    noise = 0.05 * torch.randn(len(tokens) - 1, WIDTH, generator=generator)
    return Features(id=f"sample-{number}", ids=tokens[:-1], features=(3 * lm_head[tokens[1:]] + noise).bfloat16(),
                    spans=((0, VISUAL),), answer_mask=torch.arange(len(tokens) - 1) >= VISUAL + question)
