"""LLaVA's evaluation questions: JSON Lines of `question_id`, `image`, `text` and `category`. It knows no model.

Reads LLaVA-Bench (In-the-Wild) as it is downloaded (`questions.jsonl` beside `images/`), LLaVA-Bench (COCO)
(`qa90_questions.jsonl` and COCO's `val2014/`), and the other sets of LLaVA-1.5's evaluation, which come in the
same form (`llava_textvqa_val_v051_ocr.jsonl`, `llava-seed-bench.jsonl`, …). There are no answers to learn from.

Liu et al., "Visual Instruction Tuning", 2023, and "Improved Baselines with Visual Instruction Tuning", 2024.
"""

from pathlib import Path

from specflash.data.base import Dataset, Entry
from specflash.data.files import PictureFolder, need_folder, pick_split, read_line, read_lines
from specflash.errors import UserError
from specflash.records import Turn

NAME = "llava-bench"
KNOWN = {"in-the-wild": "questions", "coco": "qa90_questions"}
PICTURES = ("images", "val2014", "train_images", "test2015", "SEED-Bench-image", "MME_Benchmark_release_version")
MARKER = "<image>"


class LlavaBench(Dataset):
    """One sample per question that shows a picture; those that show none are no question for this benchmark."""

    task = "bench"

    def __init__(self, file: Path, split: str):
        self.file, self.split = file, split
        self.rows = [(number, row) for number, offset in read_lines(file)
                     if (row := read_line(file, number, offset)).get("image")]
        for number, row in self.rows:
            for field in ("image", "text"):
                if not isinstance(row.get(field), str):
                    raise UserError(f"{file}: line {number}: `{field}` is not text")
        self.pictures = PictureFolder(file.parent, PICTURES)

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, index: int) -> str:
        return f"{self.file}: line {self.rows[index][0]}"

    def entry(self, index: int) -> Entry:
        row = self.rows[index][1]
        return (self.pictures.find(row["image"]),), (Turn(row["text"].replace(MARKER, "").strip()),)


def open_llava_bench(path: Path | None, split: str) -> LlavaBench:
    """Opens a question file of folder `path`: "in-the-wild", "coco", "test" (whichever of them is there), or a
    file by its own name. Raises UserError where it is missing or malformed."""
    folder = need_folder(path, NAME)
    files = {file.stem: file for file in folder.glob("*.jsonl")}
    found = {name: files[stem] for name, stem in KNOWN.items() if stem in files}
    usual = {"test": next(iter(found.values()))} if found else {}
    return LlavaBench(pick_split(usual | found | files, split, NAME, folder, "*.jsonl"), split)
