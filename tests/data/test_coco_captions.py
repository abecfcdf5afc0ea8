"""COCO captions as they are downloaded, of both years."""

import json

import pytest

from specflash.data import open_dataset
from specflash.data.drawn import jpeg
from specflash.data.scenes import draw_scene
from specflash.errors import UserError
from specflash.records import Turn

QUESTION = "Provide a detailed description of the given image."


def coco(folder, part, name, notes=(), place="annotations"):
    tree = {"info": {}, "licenses": [], "images": [{"id": 42, "file_name": name}],
            "annotations": [{"id": number, "image_id": 42, "caption": text} for number, text in enumerate(notes)]}
    (folder / place).mkdir(exist_ok=True)
    (folder / place / f"captions_{part}.json").write_text(json.dumps(tree))
    (folder / part).mkdir()
    (folder / part / name).write_bytes(jpeg(draw_scene(42)))


def test_training_answers_with_the_first_caption_and_testing_with_none(tmp_path):
    coco(tmp_path, "train2017", "000000000042.jpg", ["A red dog. ", "A dog."])
    coco(tmp_path, "val2017", "000000000042.jpg", ["A red dog."])
    [train], [test], [val] = (list(open_dataset("coco-captions", tmp_path, split))
                              for split in ("train", "test", "val"))
    assert train.turns == (Turn(QUESTION, "A red dog."),)
    assert test == val
    assert test.turns == (Turn(QUESTION),)
    assert test.media == (tmp_path / "val2017" / "000000000042.jpg",)
    assert test.task == "caption"


def test_the_year_2014_and_annotations_beside_the_pictures(tmp_path):
    coco(tmp_path, "val2014", "COCO_val2014_000000000042.jpg", ["A red dog."], place=".")
    [sample] = open_dataset("coco-captions", tmp_path, "test")
    assert sample.media == (tmp_path / "val2014" / "COCO_val2014_000000000042.jpg",)
    assert open_dataset("coco-captions", tmp_path, "val2014")[0] == sample


def test_2017_is_preferred_where_both_years_are_there(tmp_path):
    coco(tmp_path, "val2014", "COCO_val2014_000000000042.jpg")
    coco(tmp_path, "val2017", "000000000042.jpg")
    assert open_dataset("coco-captions", tmp_path, "val")[0].media[0].name == "000000000042.jpg"


@pytest.mark.parametrize(("change", "message"), [
    ({"images": None}, "has no list `images`"),
    ({"images": [{"id": 1}]}, r"images\[0\] has no `file_name`"),
    ({"annotations": [{"id": 1, "image_id": 42}]}, r"annotations\[0\] has no `caption`"),
    ({"annotations": [{"caption": "A dog."}]}, r"annotations\[0\] has no `image_id`"),
])
def test_a_wrong_field_is_named(tmp_path, change, message):
    coco(tmp_path, "train2017", "000000000042.jpg", ["A red dog."])
    file = tmp_path / "annotations" / "captions_train2017.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(UserError, match=message):
        open_dataset("coco-captions", tmp_path, "train")
