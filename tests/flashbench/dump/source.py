"""A small data set in LLaVA-Instruct format, and the settings of a dump of it."""

import io
import json
from pathlib import Path

from PIL import Image

from flashbench.settings import Settings

ROWS = "llava_instruct_train.json"


def write_source(folder: Path, count: int) -> Path:
    """`count` JPEGs with one exchange each, every one of other content."""
    (folder / "images").mkdir(parents=True)
    for number in range(count):
        (folder / "images" / f"{number}.jpg").write_bytes(jpeg(number))
    write_rows(folder, [exchange(number) for number in range(count)])
    return folder


def jpeg(number: int) -> bytes:
    gradient = Image.linear_gradient("L").resize((48, 40))
    image = Image.merge("RGB", (gradient, gradient.rotate(180), Image.new("L", (48, 40), 9 * number)))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG")
    return buffer.getvalue()


def exchange(number: int, answer: str = "") -> dict:
    return {"id": str(number), "image": f"images/{number}.jpg", "conversations": [
        {"from": "human", "value": f"<image>\nWhat is picture {number}?"},
        {"from": "gpt", "value": answer or f"It is picture number {number}."}]}


def write_rows(folder: Path, rows: list[dict]) -> None:
    (folder / ROWS).write_text(json.dumps(rows))


def settings_for(weights: Path, source: Path, run: Path, **dump: object) -> Settings:
    """An experiment on the tiny target in float32, with the demo's defaults where nothing is said."""
    return Settings.model_validate({
        "name": "tiny", "run": run,
        "target": {"name": "llava-1.5", "weights": str(weights), "dtype": "float32"},
        "dump": {"source": {"dataset": "llava-instruct", "path": source}, "batch": 2,
                 "error_budget": 1.0, "max_length": 256, **dump},
        "bench": {"tasks": {"any": {"source": {"dataset": "photographs"}}}}})
