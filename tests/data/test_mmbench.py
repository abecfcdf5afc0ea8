"""MMBench's TSV: pictures inside the rows, options that may be fewer than four."""

from base64 import b64encode

import pytest

from specflash.data import open_dataset
from specflash.errors import UserError
from specflash.records import Turn

HEADER = "index\tquestion\thint\tA\tB\tC\tD\tanswer\timage"
IMAGE = b64encode(b"picture" * 30_000).decode()  # a field longer than the csv module takes by itself


def write(folder, *rows, header=HEADER, name="mmbench_dev_20230712.tsv"):
    (folder / name).write_text("\n".join([header, *rows, ""]))


def test_the_question_with_its_hint_and_options(tmp_path):
    write(tmp_path, f"0\tWhich?\tLook.\ta dog\ta cat\tnan\t\tA\t{IMAGE}", f"1\tWhy?\tnan\tx\ty\tz\tw\tB\t{IMAGE[:40]}")
    dataset = open_dataset("mmbench", tmp_path, "dev")
    assert dataset.entry(0) == ((b"picture" * 30_000,), (Turn("Look.\nWhich?\nA. a dog\nB. a cat"),))
    assert dataset.entry(1)[1] == (Turn("Why?\nA. x\nB. y\nC. z\nD. w"),)
    assert len(open_dataset("mmbench", tmp_path, "mmbench_dev_20230712")) == 2


def test_what_is_wrong_is_named(tmp_path):
    write(tmp_path, "0\tWhich?\t\ta\tb\t\t\tA\t*")
    with pytest.raises(UserError, match="line 2: `image` is not valid base64"):
        open_dataset("mmbench", tmp_path, "dev")[0]
    write(tmp_path, header="index\tquestion")
    with pytest.raises(UserError, match="line 1: the column `image` is missing"):
        open_dataset("mmbench", tmp_path, "dev")
