"""LLaVA's question files as they are downloaded: In-the-Wild, COCO, and the others of the same form."""

import pytest

from specflash.data import open_dataset
from specflash.errors import UserError
from specflash.records import Turn
from tests.data.sets import lines, picture

WILD = {"question_id": 0, "image": "001.jpg", "text": "What is the name of this famous sight?", "category": "conv"}


def test_in_the_wild(tmp_path):
    picture(tmp_path, "images/001.jpg")
    lines(tmp_path / "questions.jsonl", WILD)
    [sample] = open_dataset("llava-bench", tmp_path, "in-the-wild")
    assert (sample.media, sample.turns) == ((tmp_path / "images" / "001.jpg",), (Turn(WILD["text"]),))
    assert list(open_dataset("llava-bench", tmp_path, "questions")) == [sample]


@pytest.mark.parametrize("name", ["COCO_val2014_000000441147.jpg", "000000441147.jpg"])
def test_coco_of_2014_puts_its_name_before_the_pictures(tmp_path, name):
    picture(tmp_path, f"val2014/{name}")
    lines(tmp_path / "qa90_questions.jsonl", WILD | {"image": "000000441147.jpg"})
    [sample] = open_dataset("llava-bench", tmp_path, "coco")
    assert sample.media == (tmp_path / "val2014" / name,)


def test_questions_without_a_picture_are_no_samples(tmp_path):
    picture(tmp_path, "images/001.jpg")
    lines(tmp_path / "llava-mm-vet.jsonl", {"question_id": 1, "text": "Why?"}, WILD)
    dataset = open_dataset("llava-bench", tmp_path, "llava-mm-vet")
    assert len(dataset) == 1
    assert dataset.where(0) == f"{tmp_path / 'llava-mm-vet.jsonl'}: line 2"


@pytest.mark.parametrize(("row", "fault"), [
    ({"image": 3, "text": "Why?"}, "line 2: `image` is not text"), ({"image": "1.jpg"}, "line 2: `text` is not text"),
    ("oops", "line 2 is not valid JSON")])
def test_a_wrong_line_is_named(tmp_path, row, fault):
    lines(tmp_path / "questions.jsonl", WILD, row)
    with pytest.raises(UserError, match=fault):
        open_dataset("llava-bench", tmp_path, "in-the-wild")
