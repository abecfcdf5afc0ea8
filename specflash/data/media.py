"""Decoding a picture from a file or from bytes, or saying in one line why not. It knows no model.

Every file format a picture of the real sets comes in ends up as upright, opaque 8-bit RGB.
"""

import struct
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

from specflash.errors import UserError, one_line
from specflash.records import Picture, picture_bytes

Image.init()  # `Image.open(formats=…)` fails on the names of plugins that are not loaded yet

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")  # none runs a program; JPEG opens MPO too
MAX_PIXELS = 64_000_000
MAX_RATIO = 50
"""Long side over short side. A target scales the short side to its own size before it cuts the rest
away, so a strip of 1 × 20 000 pixels would become one of gigabytes.
"""
DAMAGE = (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error, zlib.error)
"""What Pillow's decoders raise on a damaged file."""


class BadMedia(UserError):
    """A picture or a video that cannot be shown."""


class BadPicture(BadMedia):
    """A picture that is missing, damaged, too large or none at all."""


class BadClip(BadMedia):
    """A video that is missing, damaged, cut off, too large or none at all."""


def load_picture(picture: Picture, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """The picture as upright RGB; transparent parts on white, the first frame of an animation.

    Raises BadPicture, in one line, for what is missing, empty, no picture, cut off, has more than
    `max_pixels` or is too thin. A cut-off picture is an error even where a decoder would fill the rest with grey.
    """
    name = str(picture) if isinstance(picture, Path) else f"picture of {len(picture)} bytes"
    data = read_media(picture)
    if not data:
        raise BadPicture(f"{name} is empty")
    try:
        image = Image.open(BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        raise BadPicture(f"{name} is not a picture (JPEG, PNG, WebP, GIF, BMP or TIFF)") from None
    except Image.DecompressionBombError:
        raise BadPicture(f"{name} has more than the {max_pixels} pixels that are allowed") from None
    except DAMAGE as error:
        raise BadPicture(f"{name} is damaged: {one_line(error)}") from None
    if image.width * image.height > max_pixels:
        raise BadPicture(f"{name} has {image.width} × {image.height} pixels, more than the {max_pixels} allowed")
    if too_thin(image.size):
        raise BadPicture(f"{name} has {image.width} × {image.height} pixels: one side may be at most "
                         f"{MAX_RATIO} times as long as the other")
    try:
        _decode(image)
        return _rgb(_upright(image))
    except DAMAGE as error:
        raise BadPicture(f"{name} is cut off or damaged: {one_line(error)}") from None


def too_thin(size: tuple[int, int]) -> bool:
    return max(size) > MAX_RATIO * min(size)


def read_media(source: Picture, error: type[BadMedia] = BadPicture, what: str = "picture") -> bytes:
    """The encoded bytes; raises `error` with the path where there is no such file."""
    if isinstance(source, Path) and _never_ends(source):
        raise error(f"{source} is a pipe or a device, not a {what}")
    try:
        return picture_bytes(source)
    except OSError as trouble:
        raise error(f"cannot read the {what} {source}: {trouble.strerror}") from None
    except ValueError as trouble:  # a name that no file can have
        raise error(f"cannot read the {what} {str(source)!r}: {trouble}") from None


def _never_ends(path: Path) -> bool:
    """Reading a pipe waits for a writer, and reading a device may go on for ever."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except (OSError, ValueError):  # a name that no file can have; reading it says so
        return False


def _decode(image: Image.Image) -> None:
    """Decode every row, whatever another library has set for the whole process."""
    if ImageFile.LOAD_TRUNCATED_IMAGES:
        raise BadPicture("PIL.ImageFile.LOAD_TRUNCATED_IMAGES is set, so damage would go unseen; unset it")
    image.load()


def _upright(image: Image.Image) -> Image.Image:
    """Turned as its EXIF data say; as it is where these are damaged, for the pixels are sound."""
    try:
        return ImageOps.exif_transpose(image)
    except (TypeError, KeyError, ZeroDivisionError, OverflowError, *DAMAGE):
        return image


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I") or image.mode == "F":
        image = _eight_bits(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image).convert("RGB")
    return image.convert("RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Grey levels of 0 … 65535 (integers) or 0 … 1 (floats) as 0 … 255."""
    levels = np.asarray(image, np.float64)
    scale = 255.0 if image.mode == "F" else 255.0 / 65535.0
    return Image.fromarray((levels * scale).round().clip(0, 255).astype(np.uint8))
