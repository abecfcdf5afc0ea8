"""A folder of weights is whole and of the right kind, or refused in one line."""

import json

import pytest
from safetensors.torch import load_file, save_file

from specflash.errors import UserError
from specflash.targets import load_ends, load_target, target_fingerprint
from tests.tiny import save_tiny_llava


@pytest.fixture
def folder(tmp_path):
    return save_tiny_llava(tmp_path)


def refused(act, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        act()
    assert "\n" not in str(caught.value)


def load(folder):
    return load_target("llava-1.5", str(folder), device="cpu")


@pytest.mark.parametrize("kind", ["llama", None])
def test_another_model_is_refused_before_one_of_its_size_is_built(folder, kind):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_type": kind}))
    refused(lambda: load(folder), f"says model_type `{kind}`, not `llava`")


@pytest.mark.parametrize("content", ["", "[]", '{"model_type": "lla'])
def test_a_damaged_config_is_refused(folder, content):
    (folder / "config.json").write_text(content)
    refused(lambda: load(folder), "config.json is missing or damaged")


def test_missing_tensors_are_not_replaced_by_random_numbers(folder):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    gone = next(name for name in tensors if "layers.1.mlp" in name)
    save_file({name: tensor for name, tensor in tensors.items() if name != gone}, path, {"format": "pt"})
    refused(lambda: load(folder), r"lacks 1 of the model's tensors \(.*layers.1.mlp")


@pytest.mark.parametrize("content", [b"", b"\xff" * 20, b"\xff" * 7 + b"\x7f" + b"{}"])
def test_damaged_weights_are_refused_wherever_they_are_read(folder, content):
    (folder / "model.safetensors").write_bytes(content)
    refused(lambda: load(folder), "holds no LLaVA model that loads")
    refused(lambda: load_ends("llava-1.5", str(folder)), "model.safetensors is damaged .*copy or download it again")
    assert target_fingerprint("llava-1.5", str(folder))


def test_cut_weights_hold_no_tables(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    refused(lambda: load_ends("llava-1.5", str(folder)), "model.safetensors is damaged")


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"fingerprint": 3}', '{"fingerprint": "a'])
def test_a_damaged_statement_of_the_fingerprint_is_refused(folder, content):
    (folder / "specflash.json").write_text(content)
    refused(lambda: target_fingerprint("llava-1.5", str(folder)), "specflash.json is damaged")


@pytest.mark.parametrize("name", ["preprocessor_config.json", "processor_config.json"])
def test_how_pictures_are_prepared_is_part_of_the_identity(folder, name):
    """Fewer pixels are fewer visual tokens: features and drafts of the one do not fit the other."""
    before = target_fingerprint("llava-1.5", str(folder))
    path = folder / name
    path.write_text(json.dumps({**(json.loads(path.read_text()) if path.is_file() else {}), "max_pixels": 254016}))
    assert target_fingerprint("llava-1.5", str(folder)) != before
