"""Data URLs: only pictures that are pictures, and nothing is ever fetched."""

import io
import struct
import zlib
from base64 import b64encode

import pytest
from PIL import Image

from flashbench.serve.pictures import FORMATS, count_pixels, read_data_url
from flashbench.serve.refusal import Refusal


def encoded(format: str, size=(4, 3)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size).save(buffer, format)
    return buffer.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be huge."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_read_and_measured(format):
    picture = encoded(format)
    url = f"data:image/{format.lower()};base64,{b64encode(picture).decode()}"
    assert read_data_url(url, "here") == picture
    assert count_pixels(picture, "here") == 12


@pytest.mark.parametrize(("url", "status", "message"), [
    ("https://example.org/a.png", 400, "`here`: `https:` URLs are not accepted; send the image itself as "
                                       "data:image/…;base64,…"),
    ("FILE:///etc/passwd", 400, "`here`: `file:` URLs are not accepted; send the image itself as "
                                "data:image/…;base64,…"),
    ("iVBORw0KGgo=", 400, "`here`: plain strings are not accepted; send the image itself as data:image/…;base64,…"),
    ("data:image/png,abc", 400, "`here` is not of the form data:image/…;base64,…"),
    ("data:image/png;base64", 400, "`here` is not of the form data:image/…;base64,…"),
    ("data:text/html;base64,YQ==", 415, "`here`: media type `text/html` is not of the form image/…"),
    ("data:image/png;base64,a$b=", 400, "`here` is not valid base64: Only base64 data is allowed"),
])
def test_other_urls_are_refused_in_one_line(url, status, message):
    with pytest.raises(Refusal) as caught:
        read_data_url(url, "here")
    assert (caught.value.status, caught.value.message, caught.value.param) == (status, message, "here")


@pytest.mark.parametrize("payload", ["é", "YQ==\N{ZERO WIDTH SPACE}", "\udc80"])
def test_text_that_is_not_ascii_is_no_base64(payload):
    with pytest.raises(Refusal, match="not valid base64") as caught:
        read_data_url(f"data:image/png;base64,{payload}", "here")
    assert caught.value.status == 400


@pytest.mark.parametrize("size", [(1, 20_000), (20_000, 1), (2, 101)])
def test_a_picture_too_thin_to_be_scaled_is_refused(size):
    with pytest.raises(Refusal, match="at most 50 times") as caught:
        count_pixels(encoded("PNG", size), "here")
    assert caught.value.status == 400
    assert count_pixels(encoded("PNG", (2, 100)), "here") == 200


@pytest.mark.parametrize("picture", [b"", b"not a picture", b"%!PS-Adobe-3.0 EPSF-3.0\n", encoded("PNG")[:20],
                                     encoded("TIFF")], ids=["empty", "text", "eps", "cut", "tiff"])
def test_bytes_that_are_no_known_picture_are_refused(picture):
    with pytest.raises(Refusal) as caught:
        count_pixels(picture, "here")
    assert caught.value.status == 400
    assert caught.value.code == "invalid_image"
    assert caught.value.message == "`here` is not a picture that can be read (JPEG, PNG, WEBP, GIF, BMP)"


def test_a_huge_picture_is_measured_without_being_decoded():
    assert count_pixels(bomb(12_000, 12_000), "here") == 144_000_000


def test_a_monstrous_picture_is_refused():
    with pytest.raises(Refusal) as caught:
        count_pixels(bomb(60_000, 60_000), "here")
    assert caught.value.code == "image_too_large"
