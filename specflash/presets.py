"""Task presets: the papers' data, prompts and lengths by name. They describe; a path is all that is left to say.

    bench: {tasks: {captions: {preset: coco-detail, source: {path: /data/coco}}}}
    dump:  {preset: video-caption-train, source: {path: /data/kinetics-400}}

What the settings say beside a preset comes first. A new preset is one line here.
"""

from dataclasses import dataclass
from typing import Any

QUESTION = "{question}"
"""In a prompt: the data set's own question."""
EXPLAIN = f"{QUESTION}\nPlease give a detailed and reasonable explanation for the answer."
"""SpecVLM's ending, in place of the sets' own demand for a short answer."""
SUITE = {"llava-wild": "in-the-wild", "llava-coco": "coco", "textvqa": "llava_textvqa_val_v051_ocr",
         "seed-bench": "llava-seed-bench", "vqav2": "llava_vqav2_mscoco_test-dev2015",
         "vizwiz": "llava_test", "mm-vet": "llava-mm-vet", "pope": "llava_pope_test", "mme": "llava_mme"}
"""preset -> the question file of LLaVA-1.5's evaluation that it reads."""
SUBJECTS = (
    "Accounting", "Agriculture", "Architecture_and_Engineering", "Art", "Art_Theory", "Basic_Medical_Science",
    "Biology", "Chemistry", "Clinical_Medicine", "Computer_Science", "Design",
    "Diagnostics_and_Laboratory_Medicine", "Economics", "Electronics", "Energy_and_Power", "Finance", "Geography",
    "History", "Literature", "Manage", "Marketing", "Materials", "Math", "Mechanical_Engineering", "Music",
    "Pharmacy", "Physics", "Psychology", "Public_Health", "Sociology")
"""MMMU's, as its folders are called."""


@dataclass(frozen=True)
class Preset:
    """dataset, split  which part of which set
    limit           its first samples; None: all
    max_new_tokens  of an answer
    prompt          asked instead of the set's own question (see `open_dataset`); None: the set's own
    frames          shown of a clip; None: the set's own number
    answers         in a dump: whose answers are learnt from, the "dataset"'s or the "target"'s own
    source          where the numbers are from
    """

    dataset: str
    split: str
    limit: int | None
    max_new_tokens: int
    source: str
    prompt: str | None = None
    frames: int | None = None
    answers: str = "target"

    def task(self) -> dict[str, Any]:
        """As settings of one benchmark task."""
        return {"source": self._source(), "max_new_tokens": self.max_new_tokens}

    def dump(self) -> dict[str, Any]:
        """As settings of the dump."""
        return self.task() | {"answers": self.answers}

    def _source(self) -> dict[str, Any]:
        return {"dataset": self.dataset, "split": self.split, "limit": self.limit, "prompt": self.prompt,
                "frames": self.frames}


FLASH, SPECVLM = "SpecFLASH's released code", "SpecVLM, section 4.1"
PRESETS: dict[str, Preset] = {
    "instruct-train": Preset("llava-instruct", "train", 50_000, 512, FLASH, answers="dataset"),
    "instruct": Preset("llava-instruct", "test", 100, 512, FLASH),
    "video-caption-train": Preset("kinetics-400", "train", 20 * 400, 200, FLASH, frames=10),
    "video-caption": Preset("kinetics-400", "val", 100, 200, FLASH, frames=10),
    "coco-detail": Preset("coco-captions", "val2014", 100, 512, FLASH),
    **{name: Preset("llava-bench", split, 60, 512, SPECVLM, EXPLAIN) for name, split in SUITE.items()},
    "mmbench": Preset("mmbench", "dev", 60, 512, SPECVLM, EXPLAIN),
    **{f"mmmu-{subject.lower().replace('_', '-')}": Preset("mmmu", f"{subject}/validation", 30, 512, SPECVLM, EXPLAIN)
       for subject in SUBJECTS},
}
