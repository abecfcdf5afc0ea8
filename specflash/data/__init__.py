"""Data sets by name. Each entry opens one real on-disk format; none knows a model.

A new data set is one file and one line here.
"""

from collections.abc import Callable
from pathlib import Path

from specflash.catalogue import pick
from specflash.data.base import Dataset, First, Questions, as_request
from specflash.data.coco_captions import open_coco_captions
from specflash.data.llava_instruct import open_llava_instruct
from specflash.data.photographs import open_photographs

__all__ = ["DATASETS", "Dataset", "Questions", "as_request", "open_dataset"]

DATASETS: dict[str, Callable[[Path | None, str], Dataset]] = {
    "llava-instruct": open_llava_instruct,
    "coco-captions": open_coco_captions,
    "photographs": open_photographs,
}


def open_dataset(name: str, path: Path | None, split: str, limit: int | None = None) -> Dataset:
    """The data set `name` in folder `path`, its part `split`, at most its first `limit` samples.

    Raises UserError for an unknown name or split, a missing folder and a malformed index file.
    """
    dataset = pick(DATASETS, name, "data set")(path, split)
    return dataset if limit is None else First(dataset, limit)
