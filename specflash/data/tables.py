"""Parquet and Arrow tables from local files, read with the `datasets` library. It knows no meaning of a column.

    FOLDER/validation-00000-of-00001.parquet        a hub's repository, cloned
    FOLDER/data/train-00000-of-00002.parquet
    FOLDER/Art/validation-00000-of-00001.parquet    with a configuration: the split "Art/validation"
    FOLDER/dataset_info.json, state.json, …         what `save_to_disk` writes; FOLDER/train/… for several splits

Nothing is downloaded, and no code of a data set is run. The library is imported when a table is opened: it takes
seconds, and is an extra (`pip install 'specflash[tables]'`). It keeps an Arrow copy of Parquet files in its cache.
"""

import re
from collections.abc import Sequence
from logging import CRITICAL
from pathlib import Path
from typing import Any

from specflash.data.base import Dataset, Entry
from specflash.data.dialects import Row, recognise
from specflash.data.files import PictureFolder, need_folder, pick_split
from specflash.data.named import media_of
from specflash.errors import UserError, one_line

NAME = "parquet"
SHARD = re.compile(r"-\d{5}-of-\d{5}$")
SAVED = "state.json"


class Tabled(Dataset):
    """One sample per row of a table."""

    def __init__(self, folder: Path, split: str, rows: Sequence[Row]):
        self.folder, self.split, self.rows = folder, split, rows

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, index: int) -> str:
        return f"{self.folder}: `{self.split}` row {index}"


class Table(Tabled):
    """Rows in whichever dialect the columns are (`dialects.py`)."""

    task = "instruct"

    def __init__(self, folder: Path, split: str, rows: Sequence[Row]):
        super().__init__(folder, split, rows)
        self.media = PictureFolder(folder, ("images", "videos"))

    def entry(self, index: int) -> Entry:
        row = self.rows[index]
        try:
            names, turns = recognise(row)(row)
            return media_of(names, self.media), turns
        except UserError as error:
            raise UserError(f"{self.where(index)}: {error}") from None


def open_table(path: Path | None, split: str) -> Table:
    """Opens `split` of the tables in folder `path`. Raises UserError where they are missing or damaged."""
    folder = need_folder(path, NAME)
    rows = read_table(find_tables(folder), split, NAME, folder)
    if len(rows):
        recognise(rows[0])
    return Table(folder, split, rows)


def find_tables(folder: Path) -> dict[str, list[Path]]:
    """split -> its Parquet files in order, or the one folder that `save_to_disk` wrote.

    A split below a configuration's folder is "configuration/split".
    """
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        within = [part for part in file.relative_to(folder).parent.parts if part != "data"]
        found.setdefault("/".join([*within, SHARD.sub("", file.stem)]), []).append(file)
    for state in sorted(folder.rglob(SAVED)):
        name = "/".join(state.parent.relative_to(folder).parts) or "train"
        found.setdefault(name, [state.parent])
    return found


def read_table(tables: dict[str, list[Path]], split: str, dataset: str, folder: Path) -> Sequence[Row]:
    """The rows of a split, read when they are asked for; pictures stay encoded."""
    first = {name: files[0] for name, files in tables.items()}
    pick_split(first, split, dataset, folder, "*.parquet (or folder of `save_to_disk`)")
    library, files = _library(dataset), tables[split]
    try:
        table = (library.load_from_disk(str(files[0])) if files[0].is_dir() else
                 library.Dataset.from_parquet([str(file) for file in files]))
    except (OSError, ValueError, library.exceptions.DatasetsError) as error:
        raise UserError(f"data set `{dataset}`: cannot read {first[split]}: {one_line(error)}") from None
    for name, feature in table.features.items():
        table = table.cast_column(name, _encoded(library, feature))
    return table


def _encoded(library: Any, feature: Any) -> Any:
    """The same column without decoding its pictures."""
    if isinstance(feature, library.Image):
        return library.Image(decode=False)
    if isinstance(feature, library.List):
        return library.List(_encoded(library, feature.feature))
    return feature


def _library(dataset: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise UserError(f"data set `{dataset}` needs the library `datasets`; install it with "
                        "`pip install 'specflash[tables]'`") from None
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(CRITICAL)  # what is wrong is raised too, and told once
    return datasets
