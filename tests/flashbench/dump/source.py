"""A small data set in LLaVA-Instruct format, the settings of a dump of it, and a dump without Ray."""

import io
import json
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from flashbench.dump.extract import extract
from flashbench.dump.manifest import Manifest
from flashbench.dump.plan import pieces
from flashbench.dump.read import open_source
from flashbench.dump.shards import Limits, ShardWriter, Writer
from flashbench.dump.source import write_source as name_source
from flashbench.settings import Settings
from specflash.prefix import FeaturePasses
from specflash.records import Features
from tests.tiny import tiny_target

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


def dump_here(settings: Settings, count: int | None = None,
              change: Callable[[Features], Features] = lambda features: features) -> None:
    """Dump the source of `settings_for` (or its first `count` samples) in this process, as one actor would."""
    dataset, target = open_source(settings.dump), tiny_target(Path(settings.target.weights))
    samples = {sample.id: sample for sample in map(dataset.__getitem__, range(count or len(dataset)))}
    passes, folder, dump = FeaturePasses(target), settings.dump_folder, settings.dump
    Manifest(target="llava-1.5", fingerprint=target.fingerprint, dtype="float32", max_length=dump.max_length,
             width=target.width).claim(folder)
    media = {id: dataset.entry(index)[0] for index, id in enumerate(samples)}
    for number, piece in enumerate(pieces(samples, media, dump.batch)):
        shards = ShardWriter(folder, f"{number}", Limits(), Writer(1, (), "cpu"))
        for id in piece:
            shards.add(change(extract(passes, samples[id], dump.max_length)))
        shards.flush()
    name_source(folder, dump.source, samples)


def tensor_bytes(store: Path) -> int:
    """What the shards of a store hold besides their headers."""
    shards = [path.read_bytes() for path in store.glob("*.safetensors")]
    return sum(len(shard) - 8 - int.from_bytes(shard[:8], "little") for shard in shards)
