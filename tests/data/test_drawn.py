"""Drawn scenes on disk: the real sets' formats, the same bytes every time, and truth that agrees."""

import json
import os
from itertools import pairwise

import pytest
from PIL import Image

from specflash.data import open_dataset
from specflash.data.drawn import TEST_SEED, captions, instruction, read_truth, scene_seeds, write_scenes
from specflash.data.grading import f1, grade
from specflash.data.scenes import draw_scene
from specflash.errors import UserError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    write_scenes(folder, train=8, test=4, seed=0)
    return folder


def files(folder):
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
            for path in folder.rglob("*") if path.is_file()}


def test_layout_and_counts(folder):
    assert sorted(name for name in files(folder) if name.endswith(".json")) == [
        "annotations/captions_train2017.json", "annotations/captions_val2017.json", "llava_instruct_test.json",
        "llava_instruct_test_apart.json", "llava_instruct_train.json", "llava_instruct_train_apart.json",
        "truth_test.json", "truth_train.json"]
    assert len(list((folder / "train2017").glob("*.jpg"))) == 8
    assert len(list((folder / "val2017").glob("*.jpg"))) == 4
    assert write_scenes(folder, train=8, test=4, seed=0) == {
        "train": 8, "captions_train": 40, "instruct_train": 8, "test": 4, "captions_test": 20, "instruct_test": 4}


def test_pictures_are_those_of_their_seeds(folder):
    picture = Image.open(folder / "train2017" / "000000000005.jpg")
    assert (picture.size, picture.mode, picture.format) == ((336, 336), "RGB", "JPEG")
    scene = draw_scene(5).picture()
    assert abs(picture.resize((24, 24)).getpixel((12, 3))[2] - scene.resize((24, 24)).getpixel((12, 3))[2]) < 10


def test_writing_again_touches_nothing(folder):
    before = files(folder)
    write_scenes(folder, train=8, test=4, seed=0)
    assert files(folder) == before


def test_a_lost_or_damaged_file_is_made_again_and_the_rest_kept(folder):
    before = files(folder)
    (folder / "train2017" / "000000000002.jpg").unlink()
    (folder / "truth_test.json").write_text("[")
    write_scenes(folder, train=8, test=4, seed=0)
    after = files(folder)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"train2017/000000000002.jpg", "truth_test.json"}
    assert {name: data for name, (_, data) in after.items()} == {name: data for name, (_, data) in before.items()}


def test_more_scenes_leave_the_first_ones_as_they_are(folder, tmp_path):
    write_scenes(tmp_path, train=3, test=2, seed=0)
    small, large = files(tmp_path), files(folder)
    assert all(small[name][1] == large[name][1] for name in small if name.endswith(".jpg"))
    few, many = (json.loads((place / "llava_instruct_train.json").read_text()) for place in (tmp_path, folder))
    assert few == many[:3]


def test_progress_is_reported(tmp_path):
    steps = []
    write_scenes(tmp_path, train=2, test=1, seed=1, on_step=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_coco_schema(folder):
    tree = json.loads((folder / "annotations" / "captions_val2017.json").read_text())
    assert set(tree) == {"info", "licenses", "images", "annotations"}
    assert tree["images"][0] == {"id": 100000, "file_name": "000000100000.jpg", "width": 336, "height": 336,
                                 "license": 0}
    assert len({note["id"] for note in tree["annotations"]}) == len(tree["annotations"]) == 20
    for image in tree["images"]:
        assert len({note["caption"] for note in tree["annotations"] if note["image_id"] == image["id"]}) == 5


def test_llava_schema(folder):
    entries = json.loads((folder / "llava_instruct_train.json").read_text())
    for seed, entry in enumerate(entries):
        assert entry["id"] == f"{seed:012d}"
        assert entry["image"] == f"{seed:012d}.jpg"
        speakers = [message["from"] for message in entry["conversations"]]
        assert speakers == ["human", "gpt"] * (len(speakers) // 2)
        assert entry["conversations"][0]["value"].startswith("<image>\n")
        assert sum("<image>" in message["value"] for message in entry["conversations"]) == 1


def test_words_follow_from_the_seed_alone():
    assert captions(draw_scene(9)) == captions(draw_scene(9))
    assert instruction(draw_scene(9)) == instruction(draw_scene(9))


def test_answers_are_long_enough_on_average():
    words = [sum(len(message["value"].split()) for message in instruction(draw_scene(seed))["conversations"]
                 if message["from"] == "gpt") for seed in range(200)]
    assert sum(words) / len(words) > 52  # a word is 1.15 tokens or more


def test_exchanges_apart_are_those_of_the_conversations(folder):
    whole, single = (open_dataset("llava-instruct", folder, split) for split in ("train", "train_apart"))
    together = [(whole.entry(index)[0], turn) for index in range(len(whole)) for turn in whole.entry(index)[1]]
    assert [(pictures, turn) for pictures, (turn,) in map(single.entry, range(len(single)))] == together
    assert len(single) > len(whole)


def test_splits_and_seeds_never_overlap():
    ranges = [scene_seeds(split, 100_000, seed) for seed in (0, 1, 2, 49) for split in ("train", "test")]
    assert scene_seeds("test", 1, 0)[0] == TEST_SEED
    starts = sorted(seeds.start for seeds in ranges)
    assert all(after - before >= 100_000 for before, after in pairwise(starts))
    assert starts[-1] + 100_000 <= 10_000_000  # where the target's own training begins


@pytest.mark.parametrize(("count", "seed"), [(1, -1), (1, 50), (100_001, 0)])
def test_seeds_and_counts_out_of_range_are_refused(count, seed):
    with pytest.raises(UserError, match=r"scenes\.seed must be 0 to 49"):
        scene_seeds("train", count, seed)


def test_missing_truth_is_told(tmp_path):
    with pytest.raises(UserError, match=r"no file at .*truth_train\.json"):
        read_truth(tmp_path, "train")


def test_the_truth_on_disk_grades_the_captions_on_disk(folder):
    for split, part in (("train", "train2017"), ("test", "val2017")):
        truth = read_truth(folder, split)
        tree = json.loads((folder / "annotations" / f"captions_{part}.json").read_text())
        names = {image["id"]: image["file_name"] for image in tree["images"]}
        scores = f1(grade(note["caption"], truth[names[note["image_id"]]]) for note in tree["annotations"])
        assert scores.place == 1.0
        assert scores.objects == scores.colours == 1.0


def test_a_full_disk_leaves_no_half_file(folder, tmp_path):
    first = tmp_path / "train2017" / min(path.name for path in (folder / "train2017").iterdir())
    first.parent.mkdir()
    partial = first.with_name(f"{first.name}.{os.getpid()}.part")
    partial.symlink_to("/dev/full")
    with pytest.raises(UserError, match="no space left"):
        write_scenes(tmp_path, train=8, test=4, seed=0)
    assert list(first.parent.iterdir()) == []
