"""Real photographs from the installed package, without a download."""

import socket

import pytest

from specflash.data import open_dataset, photographs
from specflash.data.coco_captions import QUESTION
from specflash.data.media import load_picture
from specflash.errors import UserError
from specflash.records import Turn


def test_all_photographs_are_inside_the_package(monkeypatch):
    pytest.importorskip("skimage")
    monkeypatch.setattr(socket, "socket", None)  # a download would fail
    samples = list(open_dataset("photographs", None, "test"))
    assert [sample.media[0].name for sample in samples] == list(photographs.FILES)
    assert all(sample.turns == (Turn(QUESTION),) and sample.task == "photographs" for sample in samples)
    assert load_picture(samples[0].media[0]).size == (512, 512)


def test_without_scikit_image_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(photographs, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs scikit-image; install it with `pip install 'specflash\[demo\]'`"):
        open_dataset("photographs", None, "test")


def test_a_folder_without_them(tmp_path):
    with pytest.raises(UserError, match=r"none of astronaut\.png"):
        open_dataset("photographs", tmp_path, "test")
