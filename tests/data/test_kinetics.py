"""Kinetics-400 in the folders and under the names that people have; what is not there is counted."""

import pytest

from specflash.data import open_dataset
from specflash.data.kinetics import QUESTION
from specflash.data.named import FRAMES
from specflash.errors import UserError
from specflash.records import Clip, Turn

HEADER = "label,youtube_id,time_start,time_end,split"


def clips(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())


def listed(folder, *rows, name="train.csv", header=HEADER):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join([header, *rows, ""]))


def names(dataset):
    return [str(dataset.entry(index)[0][0].source.name) for index in range(len(dataset))]


def test_class_folders_one_of_each_class_after_the_other(tmp_path):
    clips(tmp_path, "train/air drumming/b.mp4", "train/air drumming/a.mp4", "train/abseiling/c.mp4",
          "val/abseiling/d.mp4", "train/abseiling/notes.txt")
    dataset = open_dataset("kinetics-400", tmp_path, "train")
    assert names(dataset) == ["c.mp4", "a.mp4", "b.mp4"]
    assert dataset.entry(0) == ((Clip(tmp_path / "train/abseiling/c.mp4", FRAMES),), (Turn(QUESTION),))
    assert names(open_dataset("kinetics-400", tmp_path, "val")) == ["d.mp4"]
    assert dataset.where(0) == str(tmp_path / "train/abseiling/c.mp4")


def test_class_folders_without_a_split_are_all(tmp_path):
    clips(tmp_path, "abseiling/c.mp4")
    assert names(open_dataset("kinetics-400", tmp_path, "all")) == ["c.mp4"]
    with pytest.raises(UserError, match=r"has no split `train` in .*; found: all$"):
        open_dataset("kinetics-400", tmp_path, "train")


@pytest.mark.parametrize("name", [
    "train/abseiling/0347ZoDXyP0_000095_000105.mp4", "train/0347ZoDXyP0_000095_000105.mp4",
    "train/abseiling/0347ZoDXyP0.mp4", "0347ZoDXyP0.mkv", "clips/0347ZoDXyP0.mp4"])
@pytest.mark.parametrize("place", ["train.csv", "annotations/train.csv", "kinetics400_train.csv"])
def test_the_official_list_finds_clips_under_either_name(tmp_path, name, place):
    clips(tmp_path, name)
    listed(tmp_path, "abseiling,0347ZoDXyP0,95,105,train", "abseiling,gone_is_gone,10,20,train", name=place)
    dataset = open_dataset("kinetics-400", tmp_path, "train")
    assert names(dataset) == [name.rpartition("/")[2]]
    assert dataset.missing == ("line 3: gone_is_gone_000010_000020.mp4",)
    assert dataset.where(0) == f"{tmp_path / place}: line 2"


def test_the_validation_list_has_several_names_and_the_test_list_no_labels(tmp_path):
    clips(tmp_path, "val/a_000001_000011.mp4", "test/b.mp4")
    listed(tmp_path, "abseiling,a,1,11,validate", name="validate.csv")
    listed(tmp_path, "b,1,11,test", name="test.csv", header="youtube_id,time_start,time_end,split")
    assert names(open_dataset("kinetics-400", tmp_path, "val")) == ["a_000001_000011.mp4"]
    assert names(open_dataset("kinetics-400", tmp_path, "test")) == ["b.mp4"]


def test_all_clips_missing_is_an_empty_set_and_no_error(tmp_path):
    listed(tmp_path, "abseiling,a,1,11,train")
    dataset = open_dataset("kinetics-400", tmp_path, "train")
    assert (len(dataset), len(dataset.missing)) == (0, 1)


@pytest.mark.parametrize(("row", "header", "fault"), [
    ("abseiling,a,one,11,train", HEADER, "line 2: `time_start` is 'one', not a number of seconds"),
    ("abseiling,a", HEADER, "line 2: `time_start` is None, not a number"),
    ("a,1,11", "youtube_id,start,end", "line 1: the column `time_start` is missing")])
def test_a_wrong_line_is_named(tmp_path, row, header, fault):
    listed(tmp_path, row, header=header)
    with pytest.raises(UserError, match=fault):
        open_dataset("kinetics-400", tmp_path, "train")
