"""Pictures of every sort end up as upright RGB, or as one clear line."""

import os
from io import BytesIO
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np
import pytest
from PIL import Image, ImageFile, ImageOps

from specflash.data.media import BadPicture, load_picture, read_media
from specflash.data.scenes import draw_scene
from specflash.errors import UserError

SCENE = draw_scene(3).picture()


def encoded(image: Image.Image, file_format: str, **options) -> bytes:
    buffer = BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def reason(picture, **options) -> str:
    with pytest.raises(BadPicture) as caught:
        load_picture(picture, **options)
    assert isinstance(caught.value, UserError)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("file_format", ["PNG", "BMP", "TIFF"])
def test_lossless_formats_keep_every_pixel(file_format):
    assert load_picture(encoded(SCENE, file_format)).tobytes() == SCENE.tobytes()


@pytest.mark.parametrize("file_format", ["JPEG", "MPO", "WEBP"])
def test_lossy_formats_stay_close(file_format):
    got = np.asarray(load_picture(encoded(SCENE, file_format, quality=95)), int)
    assert np.abs(got - np.asarray(SCENE, int)).mean() < 5


def test_a_file_and_its_bytes_are_the_same_picture(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(encoded(SCENE, "JPEG"))
    assert load_picture(path).tobytes() == load_picture(path.read_bytes()).tobytes()


def test_exif_orientation_is_applied():
    picture = Image.new("RGB", (40, 20), "blue")
    picture.paste("red", (0, 0, 20, 20))  # red on the left
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter clockwise: left becomes top
    got = load_picture(encoded(picture, "PNG", exif=exif))
    assert got.size == (20, 40)
    assert (got.getpixel((10, 5)), got.getpixel((10, 35))) == ((255, 0, 0), (0, 0, 255))


@pytest.mark.parametrize("error", [TypeError, ValueError, KeyError, ZeroDivisionError])
def test_a_picture_with_damaged_exif_stays_as_it_is(monkeypatch, error):
    """What `exif_transpose` raises depends on which bytes are damaged; the pixels are sound."""
    def damaged(image):
        raise error("damaged")

    monkeypatch.setattr(ImageOps, "exif_transpose", damaged)
    assert load_picture(encoded(SCENE, "PNG")).tobytes() == SCENE.tobytes()


@pytest.mark.parametrize("size", [(1, 20_000), (20_000, 1), (3, 151)])
def test_a_strip_is_refused_before_anybody_scales_it(size):
    assert "at most 50 times as long as the other" in reason(encoded(Image.new("RGB", size), "PNG"))


def test_a_banner_is_a_picture():
    assert load_picture(encoded(Image.new("RGB", (500, 10)), "PNG")).size == (500, 10)


def test_a_name_that_no_file_can_have():
    assert "cannot read the picture" in reason(Path("a\0b.png"))


@pytest.mark.parametrize("file_format", ["JPEG", "TIFF"])
def test_cmyk(file_format):
    assert load_picture(encoded(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), file_format)).getpixel((3, 3)) == (
        255, 0, 0)


@pytest.mark.parametrize("file_format", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(file_format):
    levels = np.array([[0, 257, 32896, 65535]], np.uint16)
    got = load_picture(encoded(Image.fromarray(levels), file_format))
    assert [got.getpixel((x, 0)) for x in range(4)] == [(0,) * 3, (1,) * 3, (128,) * 3, (255,) * 3]


def test_floats_run_from_0_to_1():
    got = load_picture(encoded(Image.fromarray(np.array([[0.0, 0.5, 1.0]], np.float32)), "TIFF"))
    assert [got.getpixel((x, 0))[0] for x in range(3)] == [0, 128, 255]


def test_palettes_and_bilevel():
    palette = Image.new("P", (4, 4), 1)
    palette.putpalette([255, 0, 0, 0, 255, 0])
    assert load_picture(encoded(palette, "PNG")).getpixel((1, 1)) == (0, 255, 0)
    assert load_picture(encoded(Image.new("1", (4, 4), 1), "PNG")).getpixel((1, 1)) == (255, 255, 255)


def test_transparency_lies_on_white():
    assert load_picture(encoded(Image.new("RGBA", (4, 4), (255, 0, 0, 0)), "PNG")).getpixel((0, 0)) == (255,) * 3
    assert load_picture(encoded(Image.new("LA", (4, 4), (0, 128)), "PNG")).getpixel((0, 0)) == (127,) * 3
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([255, 0, 0])
    assert load_picture(encoded(palette, "PNG", transparency=0)).getpixel((0, 0)) == (255,) * 3


def test_the_first_frame_of_an_animation():
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "lime")]
    assert load_picture(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])).getpixel((1, 1)) == (
        255, 0, 0)


@pytest.mark.parametrize("progressive", [False, True])
def test_a_cut_off_jpeg_is_an_error_wherever_it_is_cut(progressive):
    whole = encoded(SCENE.resize((112, 112)), "JPEG", progressive=progressive)
    load_picture(whole)
    for length in range(4, len(whole), 61):
        reason(whole[:length])
    assert "cut off or damaged" in reason(whole[:-2])


def test_a_process_that_tolerates_damage_is_refused(monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert "LOAD_TRUNCATED_IMAGES" in reason(encoded(SCENE, "JPEG"))


@pytest.mark.parametrize("file_format", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF"])
def test_damage_never_escapes_as_another_error(file_format):
    whole, rng = encoded(SCENE.resize((56, 56)), file_format), Random(0)
    outcomes = set()
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 12)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            outcomes.add(load_picture(bytes(data)).mode)
        except BadPicture:
            outcomes.add("bad")
    assert "bad" in outcomes
    assert outcomes <= {"bad", "RGB"}


def test_what_is_no_picture(tmp_path):
    assert reason(b"") == "picture of 0 bytes is empty"
    assert reason(b"GIF or not") == "picture of 10 bytes is not a picture (JPEG, PNG, WebP, GIF, BMP or TIFF)"
    assert "not a picture" in reason(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n")  # never run
    empty = tmp_path / "empty.jpg"
    empty.touch()
    assert reason(empty) == f"{empty} is empty"
    gone = tmp_path / "gone.jpg"
    assert reason(gone) == f"cannot read the picture {gone}: No such file or directory"
    assert reason(tmp_path) == f"cannot read the picture {tmp_path}: Is a directory"


def test_too_many_pixels():
    data = encoded(Image.new("1", (100, 50)), "PNG")
    assert load_picture(data, max_pixels=5000).size == (100, 50)
    assert reason(data, max_pixels=4999).endswith("has 100 × 50 pixels, more than the 4999 allowed")


def test_a_decompression_bomb_is_refused_before_it_is_decoded():
    small = encoded(Image.new("1", (8, 8)), "PNG")
    header = b"IHDR" + (20000).to_bytes(4, "big") * 2 + small[24:29]
    bomb = small[:12] + header + crc32(header).to_bytes(4, "big") + small[33:]
    assert reason(bomb).endswith("has more than the 64000000 pixels that are allowed")


def test_a_pipe_is_no_picture_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    with pytest.raises(BadPicture, match="is a pipe or a device"):
        read_media(tmp_path / "pipe.jpg")
