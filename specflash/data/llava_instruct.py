"""LLaVA-Instruct: a JSON list of conversations about COCO pictures. It knows no model.

Reads the real download (`llava_instruct_150k.json` beside `train2017/`) and our drawn scenes
(`llava_instruct_train.json`, `llava_instruct_test.json`) alike.

Liu et al., "Visual Instruction Tuning", 2023.
"""

from pathlib import Path

from specflash.data.base import Dataset, Entry
from specflash.data.dialects import conversation
from specflash.data.files import PictureFolder, need_folder, pick_split, read_json
from specflash.errors import UserError

NAME = "llava-instruct"
PREFIX = "llava_instruct_"
WHOLE = ("llava_instruct_150k", "llava_v1_5_mix665k")  # the real sets' training files, most wanted first
PARTS = ("conversation_58k", "detail_23k", "complex_reasoning_77k", "llava_instruct_80k")


class LlavaInstruct(Dataset):
    """One sample per entry; its turns are the conversation, its pictures come before the first question."""

    task = "instruct"

    def __init__(self, file: Path, split: str):
        entries = read_json(file)
        if not isinstance(entries, list):
            raise UserError(f"{file} must hold a list of entries with `image` and `conversations`")
        for index, entry in enumerate(entries):
            _check(file, index, entry)
        self.file, self.entries, self.split = file, entries, split
        self.pictures = PictureFolder(file.parent, ("train2017", "val2017", "train2014", "val2014"))

    def __len__(self) -> int:
        return len(self.entries)

    def where(self, index: int) -> str:
        return f"{self.file}: entry {index}"

    def entry(self, index: int) -> Entry:
        names = self.entries[index].get("image") or []
        names = [names] if isinstance(names, str) else names
        return tuple(self.pictures.find(name) for name in names), conversation(self.entries[index]["conversations"])


def open_llava_instruct(path: Path | None, split: str) -> LlavaInstruct:
    """Opens the JSON of `split` in folder `path`. Raises UserError where it is missing or malformed."""
    folder = need_folder(path, NAME)
    file = pick_split(_splits(folder), split, NAME, folder, f"{PREFIX}*.json")
    return LlavaInstruct(file, split)


def _splits(folder: Path) -> dict[str, Path]:
    files = {file.stem: file for file in folder.glob("*.json")}
    found = {stem.removeprefix(PREFIX): file for stem, file in files.items() if stem.startswith(PREFIX)}
    found |= {stem: files[stem] for stem in WHOLE + PARTS if stem in files}
    whole = next((files[stem] for stem in WHOLE if stem in files), None)
    return found if whole is None else {"train": whole} | found


def _check(file: Path, index: int, entry: object) -> None:
    """Raises UserError that names the entry and the field."""
    where = f"{file}: entry {index}"
    if not isinstance(entry, dict):
        raise UserError(f"{where} is not an object with `image` and `conversations`")
    if not isinstance(entry.get("conversations"), list):
        raise UserError(f"{where} has no `conversations`")
    image = entry.get("image") or []
    if not isinstance(image, str) and not (isinstance(image, list) and all(isinstance(one, str) for one in image)):
        raise UserError(f"{where}: `image` is not a file name")
    try:
        conversation(entry["conversations"])
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
