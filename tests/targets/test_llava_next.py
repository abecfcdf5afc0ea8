"""LLaVA-1.6's own: how many visual tokens a picture has follows from its shape."""

import pytest

from tests.families import tiny_of
from tests.tiny import grey, make_sample


@pytest.fixture(scope="module")
def target(folders):
    return tiny_of("llava-1.6", folders["llava-1.6"])


@pytest.mark.parametrize(("size", "tokens"), [
    ((56, 56), 4 + 4 * 4 + 4),  # the whole, four tiles, a newline behind each of four rows
    ((56, 28), 4 + 2 * 4 + 2),
    ((28, 56), 4 + 4 * 2 + 4),
    ((84, 28), 4 + 2 * 6 + 2),
    ((56, 40), 4 + 2 * 4 + 2),  # 2.9 of four rows hold something, and the model keeps two of them
    ((200, 100), 4 + 2 * 4 + 2),
])
def test_a_pictures_tokens_follow_from_its_shape(target, size, tokens):
    (_, length), = target.encode(make_sample(media=(grey(*size),))).spans
    assert length == tokens


def test_pictures_of_different_shapes_stand_side_by_side(target):
    prompt = target.encode(make_sample(media=(grey(56, 28), grey(28, 56), grey(56, 56))))
    assert [length for _, length in prompt.spans] == [14, 16, 24]
