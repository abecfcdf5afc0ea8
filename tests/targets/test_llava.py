"""What is LLaVA-1.5's own beside the contract, and what is refused whatever the family."""

import io

import pytest
import torch
from PIL import Image

from specflash.errors import UserError
from specflash.targets import load_target
from tests.tiny import VISUAL_TOKENS, make_sample, picture, save_tiny_llava, tiny_target


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def target(folder):
    return tiny_target(folder)


RED, BLUE = picture((200, 30, 30)), picture((20, 30, 220))


@pytest.mark.parametrize(("images", "count"), [((), 0), ((RED,), 1), ((RED, BLUE, RED), 3)])
def test_visual_spans_count_the_visual_tokens_of_each_picture(target, images, count):
    prompt = target.encode(make_sample(media=images))
    assert [length for _, length in prompt.spans] == [VISUAL_TOKENS] * count
    visual = (prompt.ids[0] == target.processor.image_token_id).nonzero().flatten().tolist()
    assert visual == [start + step for start, length in prompt.spans for step in range(length)]


def test_grey_pictures_are_read_like_coloured_ones(target):
    buffer = io.BytesIO()
    Image.new("L", (30, 30), 77).save(buffer, "PNG")
    assert len(target.encode(make_sample(media=(buffer.getvalue(),))).spans) == 1


@pytest.mark.parametrize(("name", "weights", "said"), [
    ("llava1.5", None, "did you mean `llava-1.5`"),
    ("llava-1.5", None, "set target.weights"),
    ("llava-1.5", "/nowhere", "no config.json"),
])
def test_wrong_targets_are_refused_in_one_line(name, weights, said):
    with pytest.raises(UserError, match=said) as error:
        load_target(name, weights)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("device", "said"), [
    ("foo", "not a device this runs on; known: auto, cpu, cuda"), ("cuda:7", "torch finds 0 CUDA devices"),
    ("cuda", "torch finds 0 CUDA devices"), ("cuda:x", "not a device"), ("meta", "not a device")])
def test_a_device_that_is_not_there_is_refused_in_one_line(folder, monkeypatch, device, said):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=said) as error:
        load_target("llava-1.5", str(folder), device=device)
    assert "\n" not in str(error.value)


def test_a_truncated_weights_file_is_refused_in_one_line(tmp_path):
    folder = save_tiny_llava(tmp_path)
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(UserError, match="holds no LLaVA model") as error:
        load_target("llava-1.5", str(folder))
    assert "\n" not in str(error.value)
