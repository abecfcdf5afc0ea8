"""Plain JSON Lines in the three dialects of `dialects.py`, one sample a line. It knows no model.

    FOLDER/train.jsonl  FOLDER/test.jsonl   a split is a file's name
    FOLDER/…                                media, named relative to the folder

Which dialect a file is in, its first sound line tells. A line that is wrong spoils its own sample only.
"""

from pathlib import Path

from specflash.data.base import Dataset, Entry
from specflash.data.dialects import recognise
from specflash.data.files import PictureFolder, need_folder, pick_split, read_line, read_lines
from specflash.data.named import media_of
from specflash.errors import UserError

NAME = "jsonl"
PICTURES = ("images", "pictures", "videos", "clips", "media")


class JsonLines(Dataset):
    task = "instruct"

    def __init__(self, file: Path, split: str):
        self.file, self.split = file, split
        self.lines = read_lines(file)
        if not self.lines:
            raise UserError(f"{file} has no lines")
        self.dialect = self._recognise()
        self.media = PictureFolder(file.parent, PICTURES)

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, index: int) -> str:
        return f"{self.file}: line {self.lines[index][0]}"

    def entry(self, index: int) -> Entry:
        row = read_line(self.file, *self.lines[index])
        try:
            named, turns = self.dialect(row)
            return media_of(named, self.media), turns
        except UserError as error:
            raise UserError(f"{self.where(index)}: {error}") from None

    def _recognise(self):
        """The dialect of the first line that has one; UserError with the first line's fault where none has."""
        fault = None
        for line in self.lines:
            try:
                return recognise(read_line(self.file, *line))
            except UserError as error:
                fault = fault or error
        raise UserError(f"{self.file} is in no dialect that is known: {fault}")


def open_json_lines(path: Path | None, split: str) -> JsonLines:
    """Opens `split`.jsonl in folder `path`. Raises UserError where it is missing or in no known dialect."""
    folder = need_folder(path, NAME)
    files = {file.stem: file for file in folder.glob("*.jsonl")}
    return JsonLines(pick_split(files, split, NAME, folder, "*.jsonl"), split)
