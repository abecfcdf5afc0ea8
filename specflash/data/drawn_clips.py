"""Writes drawn clips to disk as Kinetics-400 lies there. It knows no reader and no model.

    train/dog moving left/c0000000003_000000_000004.mp4   class folders; the test clips are in test/
    train.csv  test.csv                                   the official columns, and `caption`
    truth_clips_train.json  truth_clips_test.json         what really happens, for grading

The number in a clip's name is its seed; its caption follows from that.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from random import Random

import av

from specflash.data.clip_language import clip_caption
from specflash.data.clip_scenes import FRAMES, RATE, ClipScene, draw_clip
from specflash.data.drawn import scene_seeds, write_file, write_json
from specflash.data.files import read_json
from specflash.data.scenes import SIDE

COLUMNS = ("label", "youtube_id", "time_start", "time_end", "split", "caption")
SECONDS = FRAMES // RATE
QUALITY = {"crf": "18", "preset": "veryfast", "threads": "1"}  # one thread: the same bytes every time


@dataclass(frozen=True)
class TrueMover:
    kind: str
    colour: str
    motion: str


@dataclass(frozen=True)
class TrueClip:
    """What grading needs of a clip."""

    seed: int
    place: str
    weather: str
    things: tuple[TrueMover, ...]


def write_clips(folder: Path, train: int, test: int, seed: int,
                on_step: Callable[[], None] | None = None) -> dict[str, int]:
    """Draw `train` and `test` clips into `folder` and return how many each split has; a split of 0 is not written.

    Files that are right already stay untouched, so an interrupted or repeated call only adds what is missing.
    `on_step` is called after each clip.
    """
    for split, count in (("train", train), ("test", test)):
        clips = []
        for clip_seed in scene_seeds(split, count, seed):
            clips.append(draw_clip(clip_seed))
            write_file(folder / split / clips[-1].label / file_name(clips[-1]), mp4(clips[-1]))
            if on_step:
                on_step()
        if clips:
            write_file(folder / f"{split}.csv", _list(clips, split))
            write_json(folder / f"truth_clips_{split}.json", [_truth(clip) for clip in clips])
    return {"train_clips": train, "test_clips": test}


def read_clip_truth(folder: Path, split: str) -> dict[str, TrueClip]:
    """file name -> what happens in the clip."""
    return {entry["clip"]: TrueClip(entry["seed"], entry["place"], entry["weather"], tuple(
        TrueMover(thing["kind"], thing["colour"], thing["motion"]) for thing in entry["things"]))
            for entry in read_json(folder / f"truth_clips_{split}.json")}


def file_name(clip: ClipScene) -> str:
    return f"{_name(clip)}_{0:06d}_{SECONDS:06d}.mp4"


def mp4(clip: ClipScene) -> bytes:
    """H.264, FRAMES pictures of 336 × 336, RATE a second."""
    buffer = BytesIO()
    with av.open(buffer, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=RATE, options=QUALITY)
        stream.width, stream.height, stream.pix_fmt = SIDE, SIDE, "yuv420p"
        for picture in clip.frames():
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return buffer.getvalue()


def caption_of(clip: ClipScene) -> str:
    return clip_caption(clip, Random(f"caption of clip {clip.seed}"))


def _name(clip: ClipScene) -> str:
    """Eleven letters, as a name on YouTube has."""
    return f"c{clip.seed:010d}"


def _list(clips: list[ClipScene], split: str) -> bytes:
    text = StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    lines.writerows((clip.label, _name(clip), 0, SECONDS, split, caption_of(clip)) for clip in clips)
    return text.getvalue().encode()


def _truth(clip: ClipScene) -> dict:
    things = [{"kind": thing.kind, "colour": thing.colour, "size": thing.size, "motion": thing.motion}
              for thing in clip.things]
    return {"clip": file_name(clip), "seed": clip.seed, "place": clip.place, "weather": clip.weather, "things": things}
