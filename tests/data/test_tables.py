"""Parquet and Arrow from local files, as a hub's repository and as `save_to_disk` leave them."""

import socket
import sys

import pytest

from specflash.data import open_dataset
from specflash.data.drawn import jpeg
from specflash.data.scenes import draw_scene
from specflash.errors import UserError
from specflash.records import Turn
from tests.data.sets import table

datasets = pytest.importorskip("datasets")
PICTURE = jpeg(draw_scene(0))


def row(question: str) -> dict:
    return {"question": question, "image": {"bytes": PICTURE, "path": "1.jpg"}, "answer": "So."}


def test_shards_in_order_pictures_as_they_are_and_nothing_asked_of_a_hub(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", None)
    table(tmp_path / "data" / "train-00001-of-00002.parquet", row("b"))
    table(tmp_path / "data" / "train-00000-of-00002.parquet", row("a"))
    table(tmp_path / "Art" / "train-00000-of-00001.parquet", row("c"))
    dataset = open_dataset("parquet", tmp_path, "train")
    assert [sample.turns for sample in dataset] == [(Turn("a", "So."),), (Turn("b", "So."),)]
    assert dataset[0].media == (PICTURE,)
    assert dataset.where(1) == f"{tmp_path}: `train` row 1"
    assert open_dataset("parquet", tmp_path, "Art/train")[0].turns == (Turn("c", "So."),)


def test_what_save_to_disk_writes(tmp_path, cache):
    features = datasets.Features({"question": datasets.Value("string"), "images": datasets.List(datasets.Image())})
    saved = datasets.Dataset.from_dict({"question": ["Why?"], "images": [[{"bytes": PICTURE, "path": None}] * 2]},
                                       features=features)
    saved.save_to_disk(str(tmp_path / "validation"))
    [sample] = open_dataset("parquet", tmp_path, "validation")
    assert (sample.media, sample.turns) == ((PICTURE, PICTURE), (Turn("Why?"),))


def test_what_cannot_be_read_is_told_in_one_line(tmp_path, cache, capfd):
    (tmp_path / "train-00000-of-00001.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(UserError, match=r"cannot read .*train-00000-of-00001\.parquet: Parquet magic bytes not found"):
        open_dataset("parquet", tmp_path, "train")
    assert capfd.readouterr().err == ""
    table(tmp_path / "test.parquet", {"caption": "A dog."})
    with pytest.raises(UserError, match="none of the fields `conversations`"):
        open_dataset("parquet", tmp_path, "test")
    with pytest.raises(UserError, match=r"has no split `dev` in .*; found: test, train"):
        open_dataset("parquet", tmp_path, "dev")


def test_without_the_library_its_extra_is_named(tmp_path, monkeypatch):
    table(tmp_path / "train.parquet", row("a"))
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"install it with `pip install 'specflash\[tables\]'`"):
        open_dataset("parquet", tmp_path, "train")
