"""A preset says what the settings do not say, and never the other way round."""

import json

import pytest
from pydantic import ValidationError

from flashbench.bench_settings import TaskSettings
from flashbench.data_settings import SourceSettings
from flashbench.dump.manifest import Manifest
from flashbench.dump.source import read_source, write_source
from flashbench.settings import DumpSettings
from flashbench.sources import open_samples
from specflash.errors import UserError
from specflash.presets import EXPLAIN


def test_a_preset_needs_no_more_than_a_path():
    task = TaskSettings.model_validate({"preset": "llava-wild", "source": {"path": "/data/llava-bench"}})
    source = task.source.model_dump(mode="json")
    assert source == {"dataset": "llava-bench", "path": "/data/llava-bench", "split": "in-the-wild", "limit": 60,
                      "prompt": EXPLAIN, "frames": None, "also": []}
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


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """A source of two data sets, with paths as somebody in their folder writes them."""
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / name).mkdir()
        lines = [json.dumps({"prompt": f"{name}{number}", "images": []}) for number in range(3)]
        (tmp_path / name / "train.jsonl").write_text("\n".join(lines))
    return SourceSettings.model_validate({
        "dataset": "jsonl", "path": "a", "limit": 2, "also": [{"dataset": "jsonl", "path": "b", "frames": 4}]})


def test_several_data_sets_are_one_source_each_with_its_own_limit(sets):
    dataset = open_samples(sets, sets.limit)
    assert [dataset[index].turns[0].question for index in range(len(dataset))] == ["a0", "a1", "b0", "b1", "b2"]
    assert sets.name == "jsonl:train + jsonl:train"
    assert [part.path.name for part in sets.parts()] == ["a", "b"]
    assert all(part.also == () for part in sets.parts())


def test_paths_of_all_its_data_sets_hold_in_any_folder(sets, tmp_path):
    placed = sets.placed()
    assert [part.path for part in placed.parts()] == [tmp_path / "a", tmp_path / "b"]
    assert len(open_samples(placed, placed.limit)) == 5


def test_another_further_data_set_is_another_source(sets, tmp_path):
    store = tmp_path / "store"
    Manifest(target="t", fingerprint="f", dtype="float32", max_length=64, width=2).claim(store)
    write_source(store, sets, ["1"])
    dumped = read_source(store)
    dumped.check_source(sets)
    dumped.check_source(sets.placed())
    with pytest.raises(UserError, match="also"):
        dumped.check_source(sets.model_copy(update={"also": ()}))
