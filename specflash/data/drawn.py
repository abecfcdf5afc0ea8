"""Writes drawn scenes to disk in the formats of the real data sets. It knows no reader and no model.

    train2017/000000000004.jpg  val2017/…        pictures (the test pictures are in val2017)
    annotations/captions_train2017.json  …       COCO's captions format, five captions a picture
    llava_instruct_train.json  …_test.json       LLaVA-Instruct, one entry a picture, as in LLaVA-1.5's mix
    llava_instruct_train_apart.json  …           the same exchanges as entries of their own, like LLaVA-Instruct-150K's
    truth_train.json  truth_test.json            what is really there, for grading

The number in a picture's name is its scene's seed; its captions and its conversation follow from that.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from random import Random

from specflash.data.files import read_json
from specflash.data.language import caption, conversation, detail, reasoning
from specflash.data.scene_places import SIDE
from specflash.data.scenes import Scene, draw_scene
from specflash.errors import UserError
from specflash.files import write_whole

SPLIT_SEEDS = 100_000  # a seed of the settings owns this many scenes of each split
TEST_SEED = SPLIT_SEEDS  # the first test scene of seed 0
LAST_SEED = 49  # scenes from 2 · SPLIT_SEEDS · 50 on belong to the target's own training
CAPTIONS = 5
COCO_NAME = {"train": "train2017", "test": "val2017"}
QUALITY = 90


@dataclass(frozen=True)
class TrueThing:
    kind: str
    colour: str


@dataclass(frozen=True)
class TrueScene:
    """What grading needs of a scene."""

    seed: int
    place: str
    weather: str
    things: tuple[TrueThing, ...]


def scene_seeds(split: str, count: int, seed: int) -> range:
    """The scenes of a split. Those of two splits, or of two seeds, never overlap."""
    if not 0 <= seed <= LAST_SEED or count > SPLIT_SEEDS:
        raise UserError(f"scenes.seed must be 0 to {LAST_SEED}, and a split at most {SPLIT_SEEDS} scenes")
    start = (2 * seed + ("train", "test").index(split)) * SPLIT_SEEDS
    return range(start, start + count)


def write_scenes(folder: Path, train: int, test: int, seed: int,
                 on_step: Callable[[int, int], None] | None = None) -> dict[str, int]:
    """Draw `train` and `test` scenes into `folder` and return how many samples each file holds.

    Files that are right already stay untouched, so an interrupted or repeated call only adds what is missing.
    `on_step` gets (pictures done, pictures in all).
    """
    counts: dict[str, int] = {}
    done = 0
    for split, count in (("train", train), ("test", test)):
        scenes = []
        for scene_seed in scene_seeds(split, count, seed):
            scenes.append(draw_scene(scene_seed))
            write_file(folder / COCO_NAME[split] / file_name(scenes[-1]), jpeg(scenes[-1]))
            done += 1
            if on_step:
                on_step(done, train + test)
        coco, talk = _coco(scenes), [instruction(scene) for scene in scenes]
        write_json(folder / "annotations" / f"captions_{COCO_NAME[split]}.json", coco)
        write_json(folder / f"llava_instruct_{split}.json", talk)
        write_json(folder / f"llava_instruct_{split}_apart.json", [part for entry in talk for part in apart(entry)])
        write_json(folder / f"truth_{split}.json", [_truth(scene) for scene in scenes])
        counts |= {split: count, f"captions_{split}": len(coco["annotations"]), f"instruct_{split}": len(talk)}
    return counts


def read_truth(folder: Path, split: str) -> dict[str, TrueScene]:
    """file name -> what is in the picture."""
    return {entry["image"]: TrueScene(entry["seed"], entry["place"], entry["weather"], tuple(
        TrueThing(thing["kind"], thing["colour"]) for thing in entry["things"]))
            for entry in read_json(folder / f"truth_{split}.json")}


def file_name(scene: Scene) -> str:
    return f"{scene.seed:012d}.jpg"


def jpeg(scene: Scene) -> bytes:
    buffer = BytesIO()
    scene.picture().save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()


def captions(scene: Scene) -> list[str]:
    """Five captions, all different."""
    rng, found = Random(f"captions {scene.seed}"), dict[str, None]()
    while len(found) < CAPTIONS:
        found[caption(scene, rng)] = None
    return list(found)


def instruction(scene: Scene) -> dict:
    """The scene's LLaVA-Instruct entry, with several exchanges about one picture as in LLaVA-1.5's mix.

    Every second one begins with a detailed description, the others in turn with a short question or
    a reasoning.
    """
    rng = Random(f"instruction {scene.seed}")
    begun = ("detail", "conversation", "detail and conversation", "reasoning")[scene.seed % 4]
    turns = {"detail": lambda: [detail(scene, rng), reasoning(scene, rng)],
             "conversation": lambda: conversation(scene, rng),
             "detail and conversation": lambda: [detail(scene, rng), *conversation(scene, rng)[:2]],
             "reasoning": lambda: [reasoning(scene, rng), detail(scene, rng)]}[begun]()
    return {"id": f"{scene.seed:012d}", "image": file_name(scene), "conversations": list(_messages(turns))}


def apart(entry: dict) -> list[dict]:
    """Each exchange of a LLaVA-Instruct entry as an entry about the same picture."""
    said = entry["conversations"]
    exchanges = [(question["value"].removeprefix("<image>\n"), answer["value"])
                 for question, answer in zip(said[::2], said[1::2], strict=True)]
    return [{**entry, "id": f"{entry['id']}-{number}", "conversations": list(_messages([exchange]))}
            for number, exchange in enumerate(exchanges)]


def _messages(turns: list[tuple[str, str]]) -> Iterator[dict[str, str]]:
    for number, (question, answer) in enumerate(turns):
        yield {"from": "human", "value": ("" if number else "<image>\n") + question}
        yield {"from": "gpt", "value": answer}


def _coco(scenes: list[Scene]) -> dict:
    """COCO's captions schema: info, licenses, images, annotations."""
    images = [{"id": scene.seed, "file_name": file_name(scene), "width": SIDE, "height": SIDE, "license": 0}
              for scene in scenes]
    notes = [{"id": scene.seed * CAPTIONS + number, "image_id": scene.seed, "caption": text}
             for scene in scenes for number, text in enumerate(captions(scene))]
    return {"info": {"description": "Drawn scenes", "version": "1.0"},
            "licenses": [{"id": 0, "name": "Apache-2.0"}], "images": images, "annotations": notes}


def _truth(scene: Scene) -> dict:
    things = [{"kind": thing.kind, "colour": thing.colour, "size": thing.size, "action": thing.action,
               "row": thing.row, "column": thing.column, "box": list(thing.box)} for thing in scene.things]
    return {"image": file_name(scene), "seed": scene.seed, "place": scene.place, "weather": scene.weather,
            "things": things}


def write_json(path: Path, tree: object) -> None:
    write_file(path, (json.dumps(tree, indent=1, ensure_ascii=False) + "\n").encode())


def write_file(path: Path, data: bytes) -> None:
    """Atomically; a file that holds these bytes already is left alone."""
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data, mark=f"{os.getpid()}.part")
