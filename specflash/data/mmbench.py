"""MMBench: one TSV with questions, options and pictures inside. It knows no model.

    FOLDER/mmbench_dev_20230712.tsv    columns index, question, hint, A … D, answer, image (base64)

Liu et al., "MMBench", ECCV 2024. The question is put as LLaVA's evaluation puts it, without the demand for a letter.
"""

from base64 import b64decode
from pathlib import Path

from specflash.data.base import Dataset, Entry
from specflash.data.files import need_folder, pick_split, read_csv
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
        self.rows = list(read_csv(file, COLUMNS, "\t", LARGEST, "a valid TSV"))

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


def _text(row: dict[str, str], column: str) -> str:
    text = (row.get(column) or "").strip()
    return "" if text in NONE else text
