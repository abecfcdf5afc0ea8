"""Samples are named after their content: media bytes, chosen frames and text."""

from itertools import combinations

import pytest

from specflash.errors import UserError
from specflash.records import Clip, Turn, in_memory, medium_bytes, sample_id

TURNS = (Turn("What?", "It."), Turn("And?"))


def test_ids_of_samples_with_pictures_alone_stay_what_they_were():
    assert sample_id((b"picture", b"another"), TURNS) == "5b43313df1d01e4f3dcb371836682973"


def test_ids_tell_pictures_and_every_choice_of_frames_apart():
    media = [b"bytes", Clip(b"bytes", 4), Clip(b"bytes", 8), Clip(b"bytes", 4, 1.0), Clip(b"bytes", 4, None, 1.0),
             Clip(b"bytes", 4, 0.5, 1.0), Clip(b"other", 4)]
    for one, other in combinations(media, 2):
        assert sample_id((one,), TURNS) != sample_id((other,), TURNS)


def test_a_file_and_its_bytes_are_the_same_medium(tmp_path):
    (tmp_path / "a").write_bytes(b"bytes")
    for medium, packed in ((tmp_path / "a", b"bytes"), (Clip(tmp_path / "a", 3, 1.0), Clip(b"bytes", 3, 1.0))):
        assert in_memory(medium) == packed
        assert medium_bytes(medium) == b"bytes"
        assert sample_id((medium,), TURNS) == sample_id((packed,), TURNS)


@pytest.mark.parametrize("wrong", [{"frames": 0}, {"frames": 4, "start": 2.0, "end": 2.0}, {"frames": 4, "end": 0.0},
                                   {"frames": 4, "start": -1.0}, {"frames": 4, "start": float("nan")}])
def test_a_clip_that_shows_nothing_is_refused(wrong):
    with pytest.raises(UserError, match="shows nothing"):
        Clip(b"bytes", **wrong)
