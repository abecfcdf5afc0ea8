"""Kinetics-400: clips of human actions, in the folders and the CSV that people have. It knows no model.

    FOLDER/train/CLASS/ID_000010_000020.mp4     class folders, or without a folder per split: the split "all"
    FOLDER/train.csv   FOLDER/annotations/…     the official list: label, youtube_id, time_start, time_end, split

With a list, its clips are looked for in FOLDER/train, or else in all of FOLDER, flat or by class, as
ID_000010_000020.mp4 or ID.mp4 (which is taken to be cut to its ten seconds). The set is links that rot, so a
listed clip that is not there is counted in `missing` and no error. A column `caption`, which the official list
has not, is the answer. Samples come one of each class, then the next of each: a limit takes as many of every one.

Kay et al., "The Kinetics Human Action Video Dataset", 2017. The question is the one SpecFLASH's code asks.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from specflash.data.base import Dataset, Entry
from specflash.data.files import need_folder, pick_split, read_csv
from specflash.data.named import FRAMES
from specflash.errors import UserError
from specflash.records import Clip, Turn

NAME = "kinetics-400"
QUESTION = "Describe what happen in the video?"
SPLITS = {"train": ("train",), "val": ("val", "validate", "validation"), "test": ("test",)}
PREFIXES = ("", "kinetics-400_", "kinetics400_", "kinetics_400_", "kinetics_", "k400_")
LISTS = (".", "annotations", "kinetics400", "kinetics-400")
SUFFIXES = (".mp4", ".mkv", ".webm", ".avi")
COLUMNS = ("youtube_id", "time_start", "time_end")


@dataclass(frozen=True)
class Filmed:
    """A clip: where it lies, its class, its caption if it has one, and the line of the list that names it."""

    file: Path
    label: str
    caption: str | None = None
    line: int | None = None


class Kinetics(Dataset):
    task = "video"

    def __init__(self, split: str, clips: Iterable[Filmed], listed: Path | None = None, missing: Iterable[str] = ()):
        self.split, self.listed, self.missing = split, listed, tuple(missing)
        self.clips = _by_turns(clips)

    def __len__(self) -> int:
        return len(self.clips)

    def where(self, index: int) -> str:
        clip = self.clips[index]
        return str(clip.file) if self.listed is None else f"{self.listed}: line {clip.line}"

    def entry(self, index: int) -> Entry:
        clip = self.clips[index]
        return (Clip(clip.file, FRAMES),), (Turn(QUESTION, clip.caption),)


def open_kinetics(path: Path | None, split: str) -> Kinetics:
    """Opens `split` ("train", "val", "test", "all", or a list's or folder's own name) of folder `path`.

    Raises UserError where neither list nor clips are there, and for a malformed line of the list.
    """
    folder = need_folder(path, NAME)
    lists, places = _lists(folder), _places(folder)
    if split in lists:
        clips, missing = _listed(lists[split], places.get(split, folder))
        return Kinetics(split, clips, lists[split], missing)
    place = pick_split(lists | places, split, NAME, folder, "clips (FOLDER/train/CLASS/*.mp4) or list (train.csv)")
    return Kinetics(split, (Filmed(file, file.parent.name) for file in _videos(place)))


def _lists(folder: Path) -> dict[str, Path]:
    files = {file.stem: file for place in LISTS for file in sorted((folder / place).glob("*.csv"))}
    named = {split: files[prefix + name] for split, names in SPLITS.items() for prefix in PREFIXES for name in names
             if prefix + name in files}
    return files | named


def _places(folder: Path) -> dict[str, Path]:
    """split -> the folder that holds its clips."""
    found = {split: folder / name for split, names in SPLITS.items() for name in names if (folder / name).is_dir()}
    return found or ({"all": folder} if next(_videos(folder), None) else {})


def _videos(folder: Path) -> Iterator[Path]:
    """Every clip below a folder, in an order that does not depend on the file system. Follows links."""
    for place, folders, files in os.walk(folder, followlinks=True):
        folders.sort()
        yield from (Path(place, name) for name in sorted(files) if name.lower().endswith(SUFFIXES))


def _listed(file: Path, place: Path) -> tuple[list[Filmed], list[str]]:
    """The listed clips that lie in `place`, and those that do not."""
    there = {video.stem: video for video in _videos(place)}
    found, missing = [], []
    for line, row in read_csv(file, COLUMNS):
        names = (f"{row['youtube_id']}_{_second(file, line, row, 'time_start'):06d}_"
                 f"{_second(file, line, row, 'time_end'):06d}", row["youtube_id"])
        video = next((there[name] for name in names if name in there), None)
        if video is None:
            missing.append(f"line {line}: {names[0]}.mp4")
        else:
            found.append(Filmed(video, row.get("label") or "", row.get("caption") or None, line))
    return found, missing


def _second(file: Path, line: int, row: dict[str, str], field: str) -> int:
    try:
        return int(float(row[field]))
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"{file}: line {line}: `{field}` is {row[field]!r}, not a number of seconds") from None


def _by_turns(clips: Iterable[Filmed]) -> list[Filmed]:
    """The first of every class, then the second of every class, and so on."""
    classes: dict[str, list[Filmed]] = defaultdict(list)
    for clip in clips:
        classes[clip.label].append(clip)
    ranked = [(rank, label, clip) for label, group in classes.items() for rank, clip in enumerate(group)]
    return [clip for _, _, clip in sorted(ranked, key=lambda entry: entry[:2])]
