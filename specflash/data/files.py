"""Finding the files of a data set below a folder, with errors that say what is there. It knows no format."""

import json
from pathlib import Path

from specflash.errors import UserError


def need_folder(path: Path | None, dataset: str) -> Path:
    """`path`, or UserError where none is set or there is no such folder."""
    if path is None:
        raise UserError(f"data set `{dataset}` needs a folder; set `path` beside `dataset`")
    path = Path(path)
    if not path.is_dir():
        raise UserError(f"data set `{dataset}`: no folder at {path}; run `specflash prepare` or correct `path`")
    return path


def pick_split(found: dict[str, Path], split: str, dataset: str, folder: Path, wanted: str) -> Path:
    """The index file of `split`; UserError that lists the splits found, or says that `wanted` is missing."""
    if not found:
        raise UserError(f"data set `{dataset}`: no {wanted} in {folder}")
    if split not in found:
        raise UserError(f"data set `{dataset}` has no split `{split}` in {folder}; found: {', '.join(sorted(found))}")
    return found[split]


def read_json(path: Path) -> object:
    """The parsed file; UserError where it is missing, or with the line where it is not JSON."""
    try:
        return json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except FileNotFoundError:
        raise UserError(f"no file at {path}") from None
    except RecursionError:
        raise UserError(f"{path} is not valid JSON: it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not valid JSON: byte {error.start} is not UTF-8") from None
    except ValueError as error:  # a number of thousands of digits
        raise UserError(f"{path} is not valid JSON: {error}") from None


class PictureFolder:
    """Pictures named by an index file, in any of the places the real sets keep them.

    `coco/train2017/1.jpg` is looked for as given and, like `1.jpg`, by its bare name in the
    picture folders. Nothing is looked up before a picture is asked for.
    """

    def __init__(self, root: Path, folders: tuple[str, ...]):
        self.root = root
        self.folders = [folder for base in (root, root / "images", root / "coco") for name in folders
                        if (folder := base / name).is_dir()]

    def find(self, name: str) -> Path:
        """Where the picture lies; where it is expected, if it lies nowhere."""
        bare = Path(name).name
        places = [self.root / name, *(folder / bare for folder in self.folders)]
        return next((place for place in places if place.is_file()), places[-1])
