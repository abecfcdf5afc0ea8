"""Pictures to try a server with: drawn scenes, and photographs where scikit-image is there. It knows no route."""

import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import Image

from specflash.data.drawn import jpeg
from specflash.data.photographs import open_photographs
from specflash.data.scenes import draw_scene
from specflash.errors import UserError

SCENES = {"beach": 10_000_013, "park": 10_000_001, "street": 10_000_005, "kitchen": 10_000_008}
"""Place -> seed, behind those of every data set: no run trains on these pictures or is measured on them."""
PHOTOGRAPHS = {"coffee": "a cup of coffee", "chelsea": "a cat", "astronaut": "an astronaut"}
SIDE, QUALITY = 512, 88  # of photographs: more than any target here sees of them


@dataclass(frozen=True)
class SamplePicture:
    """`file` is its name at /arena/samples; `label` is told to people."""

    file: str
    label: str

    def told(self) -> dict[str, str]:
        return {"file": self.file, "label": self.label}


@cache
def sample_pictures() -> tuple[SamplePicture, ...]:
    drawn = [SamplePicture(f"{place}.jpg", f"drawn: {place}") for place in SCENES]
    photographs = [SamplePicture(f"{name}.jpg", f"photograph: {PHOTOGRAPHS[name]}") for name in _photographs()]
    return (*drawn, *photographs)


@cache
def picture_of(file: str) -> bytes:
    """The JPEG of one of `sample_pictures`: always the same bytes."""
    name = file.removesuffix(".jpg")
    return jpeg(draw_scene(SCENES[name])) if name in SCENES else _scaled(_photographs()[name])


@cache
def _photographs() -> dict[str, Path]:
    try:
        files = {path.stem: path for path in open_photographs(None, "test").files}
    except UserError:  # scikit-image is an extra
        return {}
    return {name: files[name] for name in PHOTOGRAPHS if name in files}


def _scaled(path: Path) -> bytes:
    with Image.open(path) as image:
        small = image.convert("RGB")
    small.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()
