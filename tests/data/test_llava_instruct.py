"""LLaVA-Instruct as it is downloaded, and every way an entry can be wrong."""

import json

import pytest

from specflash.data import open_dataset
from specflash.data.drawn import jpeg
from specflash.data.scenes import draw_scene
from specflash.errors import UserError
from specflash.records import Turn

CONVERSATION = [
    {"from": "human", "value": "What are the colors of the bus in the image?\n<image>"},
    {"from": "gpt", "value": "The bus in the image is white and red."},
    {"from": "human", "value": "What feature can be seen on the back of the bus?"},
    {"from": "gpt", "value": "The back of the bus features an advertisement."}]


def save(folder, entries, name="llava_instruct_150k.json"):
    (folder / name).write_text(entries if isinstance(entries, str) else json.dumps(entries))


def entry(image=None, conversations=CONVERSATION):
    return {"id": "000000033471", "conversations": conversations} | ({"image": image} if image else {})


@pytest.mark.parametrize(("image", "place"), [
    ("000000033471.jpg", "train2017"), ("000000033471.jpg", "coco/train2017"), ("000000033471.jpg", "images/train2017"),
    ("coco/train2017/000000033471.jpg", "coco/train2017"), ("coco/train2017/000000033471.jpg", "train2017"),
    ("000000033471.jpg", "."), ("000000033471.jpg", "val2017"),
])
def test_the_real_download(tmp_path, image, place):
    save(tmp_path, [entry(image)])
    picture = tmp_path / place / "000000033471.jpg"
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_bytes(jpeg(draw_scene(0)))
    [sample] = open_dataset("llava-instruct", tmp_path, "train")
    assert [path.resolve() for path in sample.media] == [picture.resolve()]
    assert sample.turns == (
        Turn("What are the colors of the bus in the image?", "The bus in the image is white and red."),
        Turn("What feature can be seen on the back of the bus?", "The back of the bus features an advertisement."))
    assert sample.task == "instruct"


@pytest.mark.parametrize("image", ["../secret.jpg", "/etc/passwd", "train2017/../../secret.jpg"])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path, image):
    (tmp_path / "set").mkdir()
    (tmp_path / "secret.jpg").write_bytes(jpeg(draw_scene(0)))
    save(tmp_path / "set", [entry(image), entry()])
    dataset = open_dataset("llava-instruct", tmp_path / "set", "train")
    with pytest.raises(UserError, match=rf"'{image}' is no file inside"):
        dataset[0]
    assert dataset[1].media == ()


def test_a_picture_of_another_set_is_not_taken_for_one_of_the_same_name(tmp_path):
    save(tmp_path, [entry("vg/VG_100K/1.jpg")])
    (tmp_path / "train2017").mkdir()
    (tmp_path / "train2017" / "1.jpg").write_bytes(jpeg(draw_scene(0)))
    with pytest.raises(UserError, match=r"vg/VG_100K/1\.jpg: No such file"):
        open_dataset("llava-instruct", tmp_path, "train")[0]


def test_an_entry_without_a_picture(tmp_path):
    save(tmp_path, [entry()])
    assert open_dataset("llava-instruct", tmp_path, "train")[0].media == ()


def test_an_open_last_question_and_a_greeting(tmp_path):
    greeting = [{"from": "gpt", "value": "Hello!"}]
    save(tmp_path, [entry(conversations=CONVERSATION[:1]), entry(conversations=greeting + CONVERSATION[:2])])
    dataset = open_dataset("llava-instruct", tmp_path, "train")
    assert dataset[0].turns == (Turn("What are the colors of the bus in the image?"),)
    assert dataset[1].turns == (
        Turn("What are the colors of the bus in the image?", "The bus in the image is white and red."),)


def test_splits_go_by_file_name(tmp_path):
    for name in ("llava_instruct_150k", "llava_instruct_test", "detail_23k", "unrelated"):
        save(tmp_path, [entry()] * (3 if name == "detail_23k" else 1), f"{name}.json")
    assert len(open_dataset("llava-instruct", tmp_path, "detail_23k")) == 3
    assert len(open_dataset("llava-instruct", tmp_path, "train")) == 1
    with pytest.raises(UserError, match=r"found: 150k, detail_23k, llava_instruct_150k, test, train$"):
        open_dataset("llava-instruct", tmp_path, "unrelated")


@pytest.mark.parametrize(("bad", "message"), [
    ({"id": "1"}, "entry 1 has no `conversations`"),
    ("text", "entry 1 is not an object"),
    (entry(image=3), "entry 1: `image` is not a file name"),
    (entry(conversations=[{"from": "human"}]), r"entry 1: `conversations\[0\].value` is not text"),
    (entry(conversations=[]), r"entry 1: `conversations\[\].from` must alternate"),
    (entry(conversations=CONVERSATION[::-1][:1]), "must alternate between human and gpt"),
    (entry(conversations=CONVERSATION[:1] * 2), "must alternate between human and gpt"),
])
def test_a_wrong_entry_is_named(tmp_path, bad, message):
    save(tmp_path, [entry(), bad])
    with pytest.raises(UserError, match=message) as caught:
        open_dataset("llava-instruct", tmp_path, "train")
    assert "llava_instruct_150k.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable_json_names_the_line(tmp_path):
    save(tmp_path, '[\n {"id": "1"},\n oops]')
    with pytest.raises(UserError, match=r"llava_instruct_150k.json is not valid JSON: line 3, column 2"):
        open_dataset("llava-instruct", tmp_path, "train")
    save(tmp_path, "{}")
    with pytest.raises(UserError, match="must hold a list of entries"):
        open_dataset("llava-instruct", tmp_path, "train")
    (tmp_path / "llava_instruct_150k.json").write_bytes(b'["\xff"]')
    with pytest.raises(UserError, match="byte 2 is not UTF-8"):
        open_dataset("llava-instruct", tmp_path, "train")
