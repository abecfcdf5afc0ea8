"""Real photographs that ship inside scikit-image: out of domain for a target that knows drawn scenes only.

Nothing is downloaded; only the pictures inside the installed package are used.
"""

from importlib.util import find_spec
from pathlib import Path

from specflash.data.base import Dataset, Entry
from specflash.data.coco_captions import QUESTION
from specflash.errors import UserError
from specflash.records import Turn

NAME = "photographs"
FILES = ("astronaut.png", "coffee.png", "chelsea.png", "rocket.jpg", "motorcycle_left.png", "camera.png",
         "coins.png", "hubble_deep_field.jpg")


class Photographs(Dataset):
    """One sample per photograph, without an answer. There are no parts: every split is the whole set."""

    task = "photographs"

    def __init__(self, folder: Path, split: str):
        self.split = split
        self.files = [folder / name for name in FILES if (folder / name).is_file()]
        if not self.files:
            raise UserError(f"data set `{NAME}`: none of {', '.join(FILES)} in {folder}")

    def __len__(self) -> int:
        return len(self.files)

    def entry(self, index: int) -> Entry:
        return (self.files[index],), (Turn(QUESTION),)


def open_photographs(path: Path | None, split: str) -> Photographs:
    """The photographs in `path`, or, without one, those of the installed scikit-image."""
    return Photographs(Path(path) if path else _bundled(), split)


def _bundled() -> Path:
    package = find_spec("skimage")
    if package is None or package.origin is None:
        raise UserError(f"data set `{NAME}` needs scikit-image; install it with `pip install 'specflash[demo]'`")
    return Path(package.origin).parent / "data"
