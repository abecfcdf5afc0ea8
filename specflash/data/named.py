"""A picture or clip as a row of a data set gives it: a name, a data URL, or bytes. It decodes nothing."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass

from specflash.data.files import PictureFolder
from specflash.errors import UserError
from specflash.records import Clip, Medium

FRAMES = 8  # shown of a clip, where the settings do not say
PICTURE, CLIP = "picture", "clip"


@dataclass(frozen=True)
class Named:
    """kind    PICTURE or CLIP
    source  a file's name below the data set's folder, or the bytes themselves
    """

    kind: str
    source: str | bytes


def named(kind: str, value: object, place: str) -> Named:
    """A file's name, a data URL, bytes, or the {bytes, path} that tables keep pictures in."""
    if isinstance(value, Mapping):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        return Named(kind, value)
    if not isinstance(value, str) or not value:
        raise UserError(f"`{place}` is not a file name")
    if value.startswith("data:"):
        return Named(kind, _from_data_url(value, place))
    if "://" in value:
        raise UserError(f"`{place}` is a link, and nothing is downloaded: put the file beside the data and name it")
    return Named(kind, value)


def media_of(names: tuple[Named, ...], folder: PictureFolder) -> tuple[Medium, ...]:
    """The media themselves, files looked up in `folder`. Raises UserError for a name that leads out of it."""
    sources = [one.source if isinstance(one.source, bytes) else folder.find(one.source) for one in names]
    return tuple(Clip(source, FRAMES) if one.kind == CLIP else source
                 for one, source in zip(names, sources, strict=True))


def _from_data_url(url: str, place: str) -> bytes:
    header, comma, payload = url.partition(",")
    if not comma or not header.endswith(";base64"):
        raise UserError(f"`{place}` is not of the form data:image/…;base64,…")
    try:
        return b64decode(payload, validate=True)
    except ValueError as error:
        raise UserError(f"`{place}` is not valid base64: {error}") from None
