"""Three ways of writing a conversation down become one, and each mistake is named by its field."""

import pytest

from specflash.data.dialects import conversation, recognise
from specflash.data.named import CLIP, PICTURE, Named
from specflash.errors import UserError
from specflash.records import Turn

URL = "data:image/png;base64,iVBORw=="
TURNS = (Turn("What is it?", "A dog."), Turn("Its colour?"))
SAME = [
    {"image": "1.jpg", "conversations": [
        {"from": "human", "value": "<image>\nWhat is it?"}, {"from": "gpt", "value": " A dog. "},
        {"from": "human", "value": "Its colour?"}]},
    {"images": ["1.jpg"], "conversations": [
        {"role": "user", "content": "<image>What is it?"}, {"role": "assistant", "content": "A dog."},
        {"role": "user", "content": "Its colour?"}]},
    {"messages": [
        {"role": "user", "content": [{"type": "image", "image": "1.jpg"}, {"type": "text", "text": "What is it?"}]},
        {"role": "assistant", "content": "A dog."}, {"role": "user", "content": "Its colour?"}]},
    {"messages": [
        {"role": "user", "content": [{"type": "text", "text": "What is it?"},
                                     {"type": "image_url", "image_url": {"url": "1.jpg"}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "A dog."}]},
        {"role": "user", "content": "Its colour?"}]}]


def read(row):
    return recognise(row)(row)


@pytest.mark.parametrize("row", SAME)
def test_conversations_and_messages_say_the_same(row):
    assert read(row) == ((Named(PICTURE, "1.jpg"),), TURNS)


@pytest.mark.parametrize(("row", "media", "turn"), [
    ({"prompt": "Why?", "image_files": ["1.jpg", "2.jpg"]}, (("picture", "1.jpg"), ("picture", "2.jpg")), Turn("Why?")),
    ({"question": "<video>\nWhy?", "video": "1.mp4", "answer": "So."}, (("clip", "1.mp4"),), Turn("Why?", "So.")),
    ({"text": "Why?", "image": None, "gpt_answer": "So."}, (), Turn("Why?", "So.")),
    ({"question": "Why?", "image": {"bytes": b"PNG", "path": "1.png"}}, (("picture", b"PNG"),), Turn("Why?")),
    ({"prompt": "Why?", "image": URL}, (("picture", b"\x89PNG"),), Turn("Why?")),
])
def test_prompts_with_files(row, media, turn):
    assert read(row) == (tuple(Named(*one) for one in media), (turn,))


def test_a_clip_among_the_parts():
    row = {"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "1.mp4"}},
                                                     {"type": "text", "text": "Why?"}]}]}
    assert read(row) == ((Named(CLIP, "1.mp4"),), (Turn("Why?"),))


def test_an_answer_before_the_first_question_is_skipped():
    assert conversation([{"from": "gpt", "value": "Hello!"}, {"from": "human", "value": "Why?"}]) == (Turn("Why?"),)


@pytest.mark.parametrize(("row", "fault"), [
    ({"caption": "A dog."}, "none of the fields `conversations`, `messages`, `prompt`, `question`, `text` is there"),
    ({"prompt": 3}, "`prompt` is not a question"),
    ({"prompt": "<image>"}, "`prompt` is not a question"),
    ({"prompt": "Why?", "answer": 3}, "`answer` is not text"),
    ({"prompt": "Why?", "image_files": ["1.jpg", 2]}, r"`image_files\[1\]` is not a file name"),
    ({"prompt": "Why?", "image": "https://a/1.jpg"}, "`image` is a link, and nothing is downloaded"),
    ({"prompt": "Why?", "image": "data:image/png,x"}, r"`image` is not of the form data:image"),
    ({"prompt": "Why?", "image": "data:image/png;base64,*"}, "`image` is not valid base64"),
    ({"conversations": [{"from": "human"}]}, r"`conversations\[0\].value` is not text"),
    ({"conversations": [{"from": "system", "value": "Be kind."}]}, r"`conversations\[0\].from` is 'system', not one"),
    ({"conversations": {}}, "`conversations` is not a list"),
    ({"messages": "Why?"}, "`messages` is not a list"),
    ({"messages": [{"role": "user", "content": 3}]}, r"`messages\[0\].content` is neither text nor a list"),
    ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, r"`messages\[0\].content\[0\]` is no text"),
    ({"messages": [{"role": "user", "content": "Why?"}, {"role": "user", "content": "Why?"}]}, "must alternate"),
    ({"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."},
                   {"role": "user", "content": [{"type": "image", "image": "1.jpg"}]}]}, "all be in the first message"),
])
def test_each_mistake_names_its_field(row, fault):
    with pytest.raises(UserError, match=fault) as caught:
        read(row)
    assert "\n" not in str(caught.value)
