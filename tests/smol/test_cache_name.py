"""The assembled model is kept under a name of all it was made from; damaged parts are told in one line."""

import pytest

from specflash.errors import UserError
from specflash.smol import llava_smol


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """Small files in the place of everything the folder is made from."""
    made = {name: tmp_path / name for name in ("weights", "code", "gguf")}
    for path in made.values():
        path.write_bytes(b"1")
    monkeypatch.setattr(llava_smol, "WEIGHTS", made["weights"])
    monkeypatch.setattr(llava_smol, "CODE", (made["code"],))
    monkeypatch.setattr(llava_smol, "gguf_file", lambda: made["gguf"])
    monkeypatch.setattr(llava_smol, "made_once", lambda name, make: name)
    return made


@pytest.mark.parametrize("changed", ["weights", "code", "gguf"])
def test_whatever_it_is_made_from_changes_its_folder(parts, changed):
    before = llava_smol.llava_smol_folder()
    assert llava_smol.llava_smol_folder() == before
    parts[changed].write_bytes(b"22")
    assert llava_smol.llava_smol_folder() != before


@pytest.mark.parametrize("content", [b"", b"\xff" * 30])
def test_damaged_committed_weights_are_told(parts, tmp_path, monkeypatch, content):
    monkeypatch.setattr(llava_smol, "empty_model", lambda: None)
    parts["weights"].write_bytes(content)
    with pytest.raises(UserError, match="restore them from version control") as caught:
        llava_smol._assemble(tmp_path / "folder")
    assert "\n" not in str(caught.value)
