"""MMMU: college questions with up to seven pictures, as the hub's Parquet files hold them. It knows no model.

    FOLDER/Art/validation-00000-of-00001.parquet    one folder per subject; also dev and test

Yue et al., "MMMU", CVPR 2024. Options are shown as LLaVA's evaluation shows them.
"""

import ast
import re
from pathlib import Path
from string import ascii_uppercase

from specflash.data.base import Entry
from specflash.data.dialects import Row
from specflash.data.files import PictureFolder, need_folder
from specflash.data.named import PICTURE, media_of, named
from specflash.data.tables import Tabled, find_tables, read_table
from specflash.errors import UserError
from specflash.records import Turn

NAME = "mmmu"
MARKER = re.compile(r"<image (\d)>")


class Mmmu(Tabled):
    """One sample per question, without an answer: a letter is no text to learn from. Its pictures are those that
    question and options mention, in that order; a mention reads "(image 1)", and the n-th is the n-th shown."""

    task = "mmmu"

    def entry(self, index: int) -> Entry:
        row = self.rows[index]
        try:
            question = "\n".join([_text(row, "question"), *_options(row)])
            order = list(dict.fromkeys(MARKER.findall(question)))
            names = tuple(named(PICTURE, row.get(f"image_{number}"), f"image_{number}") for number in order)
        except UserError as error:
            raise UserError(f"{self.where(index)}: {error}") from None
        shown = MARKER.sub(lambda mark: f"(image {order.index(mark[1]) + 1})", question)
        return media_of(names, PictureFolder(self.folder, ())), (Turn(shown.strip()),)


def open_mmmu(path: Path | None, split: str) -> Mmmu:
    """Opens "SUBJECT/validation" (or dev, test) of folder `path`. Raises UserError where it is missing."""
    folder = need_folder(path, NAME)
    return Mmmu(folder, split, read_table(find_tables(folder), split, NAME, folder))


def _text(row: Row, field: str) -> str:
    if not isinstance(row.get(field), str):
        raise UserError(f"`{field}` is not text")
    return row[field]


def _options(row: Row) -> list[str]:
    """"A. …" and so on; the column holds a Python list as text. Open questions have none."""
    try:
        options = ast.literal_eval(_text(row, "options"))
    except (ValueError, SyntaxError):
        options = None
    if not isinstance(options, list) or len(options) > len(ascii_uppercase):
        raise UserError("`options` is not a list of answers")
    return [f"{letter}. {option}" for letter, option in zip(ascii_uppercase, options, strict=False)]
