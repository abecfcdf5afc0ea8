"""An assembled model is kept under a name of all it was made from; damaged parts are told in one line."""

import pytest

from specflash.errors import UserError
from specflash.smol import shipped
from specflash.smol.llava_smol import LLAVA_SMOL
from specflash.smol.qwen_smol import QWEN_SMOL


@pytest.fixture(params=[LLAVA_SMOL, QWEN_SMOL], ids=lambda one: one.name)
def target(request, tmp_path, monkeypatch):
    """With small files in the place of everything the folder is made from."""
    one = request.param
    for name in (f"{one.name}/model.safetensors", "code", "own", "gguf"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"1")
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path)
    monkeypatch.setattr(shipped, "CODE", (tmp_path / "code",))
    monkeypatch.setattr(shipped, "gguf_file", lambda: tmp_path / "gguf")
    monkeypatch.setattr(shipped, "made_once", lambda name, make: name)
    return shipped.Shipped(one.name, tmp_path / "own", lambda: None, one.load_parts, one.save_processor)


@pytest.mark.parametrize("changed", ["weights", "code", "own", "gguf"])
def test_whatever_it_is_made_from_changes_its_folder(target, tmp_path, changed):
    before = target.folder()
    assert target.folder() == before
    (target.weights if changed == "weights" else tmp_path / changed).write_bytes(b"22")
    assert target.folder() != before


@pytest.mark.parametrize("content", [b"", b"\xff" * 30])
def test_damaged_committed_weights_are_told(target, tmp_path, content):
    target.weights.write_bytes(content)
    with pytest.raises(UserError, match="restore them from version control") as caught:
        target.assemble(tmp_path / "folder")
    assert "\n" not in str(caught.value)


def test_missing_committed_weights_are_told_with_the_command_that_makes_them(target):
    target.weights.unlink()
    with pytest.raises(UserError, match=f"build_target.py --target {target.name}"):
        target.folder()
