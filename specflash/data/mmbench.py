"""MMBench: one TSV with questions, options and pictures inside. It knows no model.

    FOLDER/mmbench_dev_20230712.tsv    columns index, question, hint, A … D, answer, image (base64)

Liu et al., "MMBench", ECCV 2024. The question is put as LLaVA's evaluation puts it, without the demand for a letter.
"""

import csv
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

from specflash.data.base import Dataset, Entry
from specflash.data.files import need_folder, pick_split
from specflash.errors import UserError
from specflash.records import Turn

NAME = "mmbench"
COLUMNS = ("question", "image")
OPTIONS = "ABCD"
NONE = ("", "nan", "NaN", "none", "None")
LARGEST = 1 << 27
"""Letters of one field: a picture is in one."""


class MmBench(Dataset):
    """One sample per row, without an answer: a letter is no text to learn from."""

    task = "bench"

    def __init__(self, file: Path, split: str):
        self.file, self.split = file, split
        self.rows = list(_rows(file))

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, index: int) -> str:
        return f"{self.file}: line {self.rows[index][0]}"

    def entry(self, index: int) -> Entry:
        row = self.rows[index][1]
        try:
            picture = b64decode(row["image"] or "", validate=True)
        except ValueError as error:
            raise UserError(f"{self.where(index)}: `image` is not valid base64: {error}") from None
        parts = [_text(row, "hint"), _text(row, "question")]
        parts += [f"{letter}. {option}" for letter in OPTIONS if (option := _text(row, letter))]
        return (picture,), (Turn("\n".join(part for part in parts if part)),)


def open_mmbench(path: Path | None, split: str) -> MmBench:
    """Opens the file of `split` in folder `path`: "dev", "test" (`mmbench_SPLIT_*.tsv`), or a file by its own name.

    Raises UserError where it is missing or has other columns.
    """
    folder = need_folder(path, NAME)
    files = {file.stem: file for file in sorted(folder.glob("*.tsv"))}
    named = {part: file for part in ("dev", "test") for stem, file in files.items()
             if part in stem.lower().replace("-", "_").split("_")}
    return MmBench(pick_split(named | files, split, NAME, folder, "*.tsv"), split)


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    limit = csv.field_size_limit(LARGEST)
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines, delimiter="\t")
            lacking = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
            if lacking:
                raise UserError(f"{file}: line 1: the column `{lacking[0]}` is missing")
            for row in reader:
                yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{file} is not a valid TSV: {error}") from None
    finally:
        csv.field_size_limit(limit)


def _text(row: dict[str, str], column: str) -> str:
    text = (row.get(column) or "").strip()
    return "" if text in NONE else text
