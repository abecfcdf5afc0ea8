"""COCO Captions: pictures with human captions, asked for a detailed description. It knows no model.

Lin et al., "Microsoft COCO", 2014; Chen et al., "Microsoft COCO Captions", 2015. The question is the one
FlashSD's evaluation asks.
"""

from pathlib import Path

from specflash.data.base import Dataset, Entry
from specflash.data.files import PictureFolder, need_folder, pick_split, read_json
from specflash.errors import UserError
from specflash.records import Turn

NAME = "coco-captions"
QUESTION = "Provide a detailed description of the given image."
YEARS = ("2017", "2014")


class CocoCaptions(Dataset):
    """One sample per picture. Training splits answer with the first caption, the others leave it to the target:
    a benchmark compares decoders, and five one-line captions are no reference for a long description."""

    task = "caption"

    def __init__(self, file: Path, split: str):
        index = read_json(file)
        self.file, self.split = file, split
        self.answered = file.stem.startswith("captions_train")
        self.names = [_field(file, "images", number, image, "file_name", str)
                      for number, image in enumerate(_listed(file, index, "images"))]
        self.first: dict[str, str] = _first_captions(file, index) if self.answered else {}
        root = file.parent.parent if file.parent.name == "annotations" else file.parent
        self.pictures = PictureFolder(root, (file.stem.removeprefix("captions_"),))

    def __len__(self) -> int:
        return len(self.names)

    def where(self, index: int) -> str:
        return f"{self.file}: images[{index}]"

    def entry(self, index: int) -> Entry:
        name = self.names[index]
        return (self.pictures.find(name),), (Turn(QUESTION, self.first.get(name)),)


def open_coco_captions(path: Path | None, split: str) -> CocoCaptions:
    """Opens the annotations of `split` in folder `path`: "train", "val", "test" (COCO's val, whose captions are
    public), or a file by its own name, as "val2014". Raises UserError where they are missing or malformed."""
    folder = need_folder(path, NAME)
    file = pick_split(_splits(folder), split, NAME, folder, "annotations/captions_*.json")
    return CocoCaptions(file, split)


def _splits(folder: Path) -> dict[str, Path]:
    files = {file.stem.removeprefix("captions_"): file for place in (folder, folder / "annotations")
             for file in sorted(place.glob("captions_*.json"))}
    named = {split: files[part + year] for split, part in (("train", "train"), ("val", "val"), ("test", "val"))
             for year in reversed(YEARS) if part + year in files}
    return files | named


def _listed(file: Path, index: object, field: str) -> list:
    if not isinstance(index, dict) or not isinstance(index.get(field), list):
        raise UserError(f"{file} has no list `{field}`; it must be in COCO's captions format")
    return index[field]


def _field(file: Path, place: str, number: int, entry: object, field: str, kind: type):
    if not isinstance(entry, dict) or not isinstance(entry.get(field), kind):
        raise UserError(f"{file}: {place}[{number}] has no `{field}`")
    return entry[field]


def _first_captions(file: Path, index: object) -> dict[str, str]:
    """file name -> the caption that comes first in the file."""
    names = {_field(file, "images", number, image, "id", int): image["file_name"]
             for number, image in enumerate(_listed(file, index, "images"))}
    captions: dict[str, str] = {}
    for number, note in enumerate(_listed(file, index, "annotations")):
        picture = _field(file, "annotations", number, note, "image_id", int)
        caption = _field(file, "annotations", number, note, "caption", str)
        if picture in names:
            captions.setdefault(names[picture], caption.strip())
    return captions
