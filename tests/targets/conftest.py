"""Every family's tiny target, made once."""

import pytest

from specflash.records import Clip
from specflash.targets.base import Target
from tests.families import FAMILIES, tiny_of
from tests.tiny import picture
from tests.videos import write_video


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    return {name: tmp_path_factory.mktemp(name) for name in FAMILIES}


@pytest.fixture(scope="session", params=FAMILIES)
def target(request, folders) -> Target:
    return tiny_of(request.param, folders[request.param])


@pytest.fixture(scope="session")
def media(tmp_path_factory):
    """What a sample may show, by name."""
    red, blue = picture((200, 30, 30)), picture((20, 30, 220))
    clip = Clip(write_video(tmp_path_factory.mktemp("clip") / "clip.mp4", frames=6).read_bytes(), 4)
    return {"no picture": (), "one picture": (red,), "two pictures": (red, blue), "clip": (clip,),
            "odd clip": (Clip(clip.source, 3),), "clip and picture": (clip, blue)}
