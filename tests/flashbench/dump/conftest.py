"""A tiny target on disk, drawn pictures in LLaVA-Instruct format, and one Ray for all tests."""

import io
import json
from pathlib import Path

import pytest
import ray
from PIL import Image

from flashbench.ray_session import ray_session
from flashbench.settings import Settings
from tests.tiny import save_tiny_llava

CPUS, LOGICAL_GPUS = 4, 2


@pytest.fixture(scope="session")
def weights(tmp_path_factory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture(scope="session")
def local_ray(weights):
    """Four logical CPUs and two logical GPUs, whatever the machine has."""
    with ray_session(None, num_cpus=CPUS, num_gpus=LOGICAL_GPUS):
        yield


def write_source(folder: Path, count: int) -> Path:
    """`count` pictures with one exchange each, every one of other content."""
    (folder / "images").mkdir(parents=True)
    rows = []
    for number in range(count):
        buffer = io.BytesIO()
        noise = Image.effect_noise((48, 40), 20 + number)
        Image.merge("RGB", (noise, noise, Image.new("L", noise.size, 5 * number % 256))).save(buffer, "JPEG")
        (folder / "images" / f"{number}.jpg").write_bytes(buffer.getvalue())
        rows.append(exchange(number))
    write_rows(folder, rows)
    return folder


def exchange(number: int) -> dict:
    return {"id": str(number), "image": f"{number}.jpg", "conversations": [
        {"from": "human", "value": f"<image>\nWhat is picture {number}?"},
        {"from": "gpt", "value": f"It is picture number {number}."}]}


def write_rows(folder: Path, rows: list[dict]) -> None:
    (folder / "llava_instruct_train.json").write_text(json.dumps(rows))


def read_rows(folder: Path) -> list[dict]:
    return json.loads((folder / "llava_instruct_train.json").read_text())


def settings_for(weights: Path, source: Path, run: Path, **dump: object) -> Settings:
    """An experiment on the tiny target in float32."""
    return Settings.model_validate({
        "name": "tiny", "run": run,
        "target": {"name": "llava-1.5", "weights": str(weights), "dtype": "float32"},
        "dump": {"source": {"dataset": "llava-instruct", "path": source}, "batch": 3,
                 "error_budget": 1.0, "max_length": 512, **dump},
        "bench": {"tasks": {}}})
