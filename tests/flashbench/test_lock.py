"""One process at a time: the second is told, and a lock ends with its process."""

import pytest

from flashbench.lock import holder, sole_writer
from specflash.errors import UserError


def test_the_second_is_told_and_the_next_gets_in(tmp_path):
    with sole_writer(tmp_path / "drafts", "training"):
        with (pytest.raises(UserError, match=r"another training is writing to .*drafts: wait"),
              sole_writer(tmp_path / "drafts", "training")):
            pass
        with sole_writer(tmp_path / "bench", "bench"):
            pass
    with sole_writer(tmp_path / "drafts", "training"):
        pass


def test_another_holder_is_noticed(tmp_path):
    assert holder(tmp_path) == ""
    with sole_writer(tmp_path, "dump"):
        first = holder(tmp_path)
    with sole_writer(tmp_path, "dump"):
        assert holder(tmp_path) not in ("", first)
