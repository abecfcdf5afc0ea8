"""A preset says what the settings do not say, and never the other way round."""

import pytest
from pydantic import ValidationError

from flashbench.settings import DumpSettings, TaskSettings
from specflash.presets import EXPLAIN


def test_a_preset_needs_no_more_than_a_path():
    task = TaskSettings.model_validate({"preset": "llava-wild", "source": {"path": "/data/llava-bench"}})
    source = task.source.model_dump(mode="json")
    assert source == {"dataset": "llava-bench", "path": "/data/llava-bench", "split": "in-the-wild", "limit": 60,
                      "prompt": EXPLAIN, "frames": None}
    assert task.max_new_tokens == 512
    dump = DumpSettings.model_validate({"preset": "video-caption-train", "source": {"path": "/data/k400"}})
    assert (dump.source.dataset, dump.source.frames, dump.answers, dump.max_new_tokens) == (
        "kinetics-400", 10, "target", 200)


def test_what_stands_beside_a_preset_comes_first_and_saved_settings_stay_the_same():
    task = TaskSettings.model_validate({"preset": "coco-detail", "max_new_tokens": 64,
                                        "source": {"path": "/data/coco", "split": "val2017", "limit": 5}})
    assert (task.source.split, task.source.limit, task.max_new_tokens) == ("val2017", 5, 64)
    assert TaskSettings.model_validate(task.model_dump(mode="json")) == task


def test_an_unknown_preset_is_named_with_the_nearest():
    with pytest.raises(ValidationError, match=r"no preset is called `coco-detai` \(did you mean `coco-detail`\?\)"):
        TaskSettings.model_validate({"preset": "coco-detai"})
