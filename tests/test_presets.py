"""Every preset names a data set there is, and the papers' numbers are the papers'."""

import subprocess
import sys

import pytest

from specflash.data import DATASETS
from specflash.data.kinetics import QUESTION as VIDEO
from specflash.presets import EXPLAIN, PRESETS, SUBJECTS


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_of_a_known_set(name):
    preset = PRESETS[name]
    assert preset.dataset in DATASETS
    assert preset.answers in ("dataset", "target")
    assert preset.task()["source"]["limit"] == preset.limit


def test_the_papers_numbers():
    coco = PRESETS["coco-detail"]
    assert (coco.dataset, coco.split, coco.limit, coco.prompt) == ("coco-captions", "val2014", 100, None)
    video = PRESETS["video-caption-train"]
    assert (video.limit, video.max_new_tokens, video.answers) == (8000, 200, "target")
    assert (video.prompt, VIDEO) == (None, "Describe what happen in the video?")
    wild = PRESETS["llava-wild"]
    assert (wild.limit, wild.prompt) == (60, EXPLAIN)
    assert len(SUBJECTS) == 30 == PRESETS["mmmu-art-theory"].limit
    assert PRESETS["mmmu-art-theory"].split == "Art_Theory/validation"


def test_presets_can_be_read_without_torch():
    child = "import sys, specflash.presets; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", child], check=False).returncode == 0
