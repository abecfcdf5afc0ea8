"""MMMU's rows: pictures where they are mentioned, options lettered. Rows are plain dictionaries here."""

from pathlib import Path

import pytest

from specflash.data.mmmu import Mmmu
from specflash.errors import UserError
from specflash.records import Turn

ROW = {"question": "Is it <image 3> or <image 1>?", "options": "['<image 1>', \"a dog's\"]", "answer": "A",
       "image_1": {"bytes": b"one", "path": "1.png"}, "image_2": {"bytes": b"two", "path": "2.png"},
       "image_3": {"bytes": b"three", "path": "3.png"}}


def entry(row: dict):
    return Mmmu(Path("/mmmu"), "Art/validation", [row]).entry(0)


def test_pictures_come_in_the_order_of_their_mention_and_the_letter_is_no_answer():
    assert entry(ROW) == ((b"three", b"one"), (Turn("Is it (image 1) or (image 2)?\nA. (image 2)\nB. a dog's"),))


def test_an_open_question_has_no_options():
    assert entry(ROW | {"question": "<image 2> Why?", "options": "[]"}) == ((b"two",), (Turn("(image 1) Why?"),))


@pytest.mark.parametrize(("change", "fault"), [
    ({"image_3": {"bytes": None, "path": None}}, "`image_3` is not a file name"),
    ({"options": "__import__('os')"}, "`options` is not a list of answers"),
    ({"options": "['a'"}, "`options` is not a list of answers"),
    ({"question": None}, "`question` is not text")])
def test_a_wrong_field_is_named(change, fault):
    with pytest.raises(UserError, match=rf"^/mmmu: `Art/validation` row 0: {fault}"):
        entry(ROW | change)
