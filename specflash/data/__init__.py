"""Data sets by name. Each entry opens one real on-disk format; none knows a model.

A new data set is one file and one line here.
"""

from collections.abc import Callable
from pathlib import Path

from specflash.catalogue import pick
from specflash.data.base import Chained, Dataset, First, Prompted, Questions, Shown, as_request
from specflash.data.coco_captions import open_coco_captions
from specflash.data.json_lines import open_json_lines
from specflash.data.kinetics import open_kinetics
from specflash.data.llava_bench import open_llava_bench
from specflash.data.llava_instruct import open_llava_instruct
from specflash.data.mmbench import open_mmbench
from specflash.data.mmmu import open_mmmu
from specflash.data.photographs import open_photographs
from specflash.data.tables import open_table

__all__ = ["DATASETS", "Chained", "Dataset", "Questions", "as_request", "open_dataset"]

DATASETS: dict[str, Callable[[Path | None, str], Dataset]] = {
    "llava-instruct": open_llava_instruct,
    "coco-captions": open_coco_captions,
    "kinetics-400": open_kinetics,
    "llava-bench": open_llava_bench,
    "mmbench": open_mmbench,
    "mmmu": open_mmmu,
    "jsonl": open_json_lines,
    "parquet": open_table,
    "photographs": open_photographs,
}


def open_dataset(name: str, path: Path | None, split: str, limit: int | None = None, prompt: str | None = None,
                 frames: int | None = None) -> Dataset:
    """The data set `name` in folder `path`, its part `split`, at most its first `limit` samples.

    prompt  asked instead of the data set's first question, whose place in it is `{question}`
    frames  shown of each clip; both None: as the data set has it

    Raises UserError for an unknown name or split, a missing folder and a malformed index file.
    """
    dataset = pick(DATASETS, name, "data set")(path, split)
    dataset = dataset if limit is None else First(dataset, limit)
    dataset = dataset if prompt is None else Prompted(dataset, prompt)
    return dataset if frames is None else Shown(dataset, frames)
