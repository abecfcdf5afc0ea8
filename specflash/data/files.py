"""Finding the files of a data set below a folder, with errors that say what is there. It knows no format."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from specflash.errors import UserError, one_line


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


def read_lines(path: Path) -> list[tuple[int, int]]:
    """(line number from 1, byte offset) of every line that is not blank, so that a large file need not stay in memory.

    Raises UserError where there is no such file.
    """
    lines, offset = [], 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    lines.append((number, offset))
                offset += len(line)
    except FileNotFoundError:
        raise UserError(f"no file at {path}") from None
    return lines


def read_line(path: Path, number: int, offset: int) -> dict:
    """The JSON object in one line of a file; UserError that names the line where it holds something else."""
    with path.open("rb") as file:
        file.seek(offset)
        line = file.readline().rstrip()
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: line {number} is not valid JSON: column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise UserError(f"{path}: line {number} is not valid JSON: it is nested too deeply") from None
    except ValueError as error:  # bytes that are not UTF-8, or a number of thousands of digits
        raise UserError(f"{path}: line {number} is not valid JSON: {one_line(error)}") from None
    if not isinstance(row, dict):
        raise UserError(f"{path}: line {number} is not an object")
    return row


def read_csv(path: Path, columns: Sequence[str], delimiter: str = ",", largest: int | None = None,
             kind: str = "valid CSV") -> Iterator[tuple[int, dict[str, str]]]:
    """(line number from 1, its columns by name) of every row.

    largest  letters of one field; None: as many as Python's reader takes

    Raises UserError where a column is missing, and where the file is not `kind`.
    """
    limit = csv.field_size_limit() if largest is None else csv.field_size_limit(largest)
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines, delimiter=delimiter)
            lacking = [column for column in columns if column not in (reader.fieldnames or ())]
            if lacking:
                raise UserError(f"{path}: line 1: the column `{lacking[0]}` is missing")
            for row in reader:
                yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not {kind}: {error}") from None
    finally:
        csv.field_size_limit(limit)


def inside(root: Path, name: str) -> Path:
    """`root / name`. Raises UserError for a name that leads out of `root`: what a data set says is not to open any
    file of the machine. Links inside the folder are the user's own and are followed.
    """
    if not name.strip() or PurePath(name).is_absolute() or ".." in PurePath(name).parts:
        raise UserError(f"{name!r} is no file inside {root}; correct the name, or `path` beside `dataset`")
    return root / name


class PictureFolder:
    """Media named by an index file, in any of the places the real sets keep them.

    `coco/train2017/1.jpg` is looked for as given and in the folders called `train2017`; the bare `1.jpg`
    in all the folders, and in COCO's of 2014 also as `COCO_train2014_1.jpg`. Nothing is looked up before a
    picture is asked for.
    """

    def __init__(self, root: Path, folders: tuple[str, ...]):
        self.root = root
        self.folders = [folder for base in (root, root / "images", root / "coco") for name in folders
                        if (folder := base / name).is_dir()]

    def find(self, name: str) -> Path:
        """Where the picture lies; where it is expected, if it lies nowhere. Raises UserError for a name that leads
        out of the folder."""
        given = inside(self.root, name)
        within = Path(name).parent.name
        folders = [folder for folder in self.folders if within in ("", folder.name)]
        places = [given, *(folder / spelt for folder in folders
                           for spelt in (f"COCO_{folder.name}_{given.name}", given.name))]
        return next((place for place in places if place.is_file()), places[-1])
