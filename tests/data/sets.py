"""Every data set of the catalogue, tiny, as it lies on disk. It knows no reader."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from specflash.data.drawn import jpeg, write_scenes
from specflash.data.drawn_clips import write_clips
from specflash.data.scenes import draw_scene


def picture(folder: Path, name: str, seed: int = 0) -> bytes:
    """Written as FOLDER/name, and given back."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data := jpeg(draw_scene(seed)))
    return data


def lines(path: Path, *rows: object) -> Path:
    """JSON Lines; text stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def table(path: Path, *rows: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def _llava_bench(folder: Path) -> None:
    picture(folder, "images/001.jpg")
    lines(folder / "questions.jsonl", {"question_id": 0, "image": "001.jpg", "text": "Where?", "category": "conv"},
          {"question_id": 1, "image": "001.jpg", "text": "Describe it.", "category": "detail"})


def _mmmu(folder: Path) -> None:
    table(folder / "test-00000-of-00001.parquet", {
        "id": "test_Art_1", "question": "Which is <image 1>?", "options": "['a', 'b']", "answer": "A",
        "image_1": {"bytes": jpeg(draw_scene(0)), "path": "1.png"}, "image_2": {"bytes": None, "path": None}})


def _json_lines(folder: Path) -> None:
    picture(folder, "1.jpg")
    lines(folder / "test.jsonl", {"prompt": "What is it?", "image_files": ["1.jpg"]}, {"prompt": "And nothing?"})


def _parquet(folder: Path) -> None:
    table(folder / "data" / "test-00000-of-00001.parquet", {
        "question": "Which?", "image": {"bytes": jpeg(draw_scene(0)), "path": "1.jpg"}, "answer": "This one."})


def _mmbench(folder: Path) -> None:
    image = b64encode(jpeg(draw_scene(0))).decode()
    (folder / "mmbench_test.tsv").write_text(f"index\tquestion\tA\timage\n0\tWhich?\ta dog\t{image}\n")


SETS: dict[str, Callable[[Path], object]] = {
    "llava-instruct": lambda folder: write_scenes(folder, train=4, test=3, seed=0),
    "coco-captions": lambda folder: write_scenes(folder, train=4, test=3, seed=0),
    "kinetics-400": lambda folder: write_clips(folder, train=0, test=2, seed=0),
    "llava-bench": _llava_bench, "mmbench": _mmbench, "mmmu": _mmmu, "jsonl": _json_lines, "parquet": _parquet,
    "photographs": lambda folder: picture(folder, "astronaut.png")}
"""Name -> what writes its split "test" into a folder."""
