"""Which media are decoded, and that processes of their own find what this one would."""

import pytest

from flashbench.prepare import decode
from flashbench.prepare.decode import choose, find_broken
from specflash.records import Clip
from tests.data.sets import picture


def test_a_sample_follows_from_the_seed_and_keeps_the_order():
    media = [str(number).encode() for number in range(100)]
    assert choose(media, 100, 0) == media
    some = choose(media, 10, 3)
    assert some == choose(media, 10, 3) != choose(media, 10, 4)
    assert len(some) == 10
    assert [int(one) for one in some] == sorted(int(one) for one in some)


@pytest.mark.parametrize("few", [3, 2])  # with 2, in other processes
def test_what_does_not_decode_is_found_with_its_reason(tmp_path, monkeypatch, few):
    monkeypatch.setattr(decode, "FEW", few)
    monkeypatch.setattr(decode, "START", "fork")  # a new Python would import torch for seconds
    good, steps = picture(tmp_path, "1.jpg"), []
    broken = find_broken(range(3), [good, good[:900], Clip(b"no video", 4)].__getitem__, 1, lambda: steps.append(1))
    assert set(broken) == {1, 2}
    assert broken[1].startswith("picture of 900 bytes is cut off or damaged")
    assert len(steps) == 3
