"""JSON Lines: the file tells its dialect, and a wrong line spoils its own sample only."""

import json

import pytest

from specflash.data import open_dataset
from specflash.errors import UserError
from specflash.records import Turn
from tests.data.sets import lines, picture

RIGHT = {"prompt": "Why?", "image": "1.jpg"}


def test_a_file_in_each_dialect(tmp_path):
    picture(tmp_path, "images/1.jpg")
    lines(tmp_path / "a.jsonl", "", RIGHT)
    lines(tmp_path / "b.jsonl", {"image": "1.jpg", "conversations": [{"from": "human", "value": "Why?"}]})
    lines(tmp_path / "c.jsonl", {"messages": [{"role": "user", "content": [
        {"type": "image", "image": "images/1.jpg"}, {"type": "text", "text": "Why?"}]}]})
    [[a], [b], [c]] = [list(open_dataset("jsonl", tmp_path, split)) for split in "abc"]
    assert a == b == c
    assert (a.media, a.turns) == ((tmp_path / "images" / "1.jpg",), (Turn("Why?"),))


@pytest.mark.parametrize(("wrong", "fault"), [
    ('{"prompt": "Why?"', "line 3 is not valid JSON: column 18: Expecting ',' delimiter"),
    ('{"prompt": "\udcff"}', "line 3 is not valid JSON: 'utf-8' codec"),
    ("[1]", "line 3 is not an object"),
    ('{"prompt": ' + "[" * 100_000, "line 3 is not valid JSON: it is nested too deeply"),
    ({"prompt": ""}, "line 3: `prompt` is not a question"),
    ({"prompt": "Why?", "image": "../1.jpg"}, "line 3: '../1.jpg' is no file inside"),
])
def test_a_wrong_line_is_named_and_spoils_no_other(tmp_path, wrong, fault):
    picture(tmp_path, "1.jpg")
    file = tmp_path / "train.jsonl"
    lines(file, RIGHT, "")
    text = wrong if isinstance(wrong, str) else json.dumps(wrong)
    file.write_bytes(file.read_bytes() + text.encode(errors="surrogateescape") + b"\n" + file.read_bytes())
    dataset = open_dataset("jsonl", tmp_path, "train")
    assert len(dataset) == 3
    assert dataset[0] == dataset[2]
    with pytest.raises(UserError, match=fault) as caught:
        dataset[1]
    assert str(caught.value).startswith(f"{file}: line 3")


def test_a_file_in_no_dialect(tmp_path):
    lines(tmp_path / "train.jsonl", "oops", {"caption": "A dog."})
    with pytest.raises(UserError, match=r"train\.jsonl is in no dialect that is known: .*line 1 is not valid JSON"):
        open_dataset("jsonl", tmp_path, "train")
    lines(tmp_path / "empty.jsonl", "")
    with pytest.raises(UserError, match=r"empty\.jsonl has no lines"):
        open_dataset("jsonl", tmp_path, "empty")
