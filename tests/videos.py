"""Small videos with a moving square, made with PyAV. They know no decoder."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np


def frame(number: int, size: tuple[int, int] = (64, 48)) -> np.ndarray:
    """A red square on a gradient; every frame differs. [H, W, 3]"""
    width, height = size
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[..., 0] = np.linspace(0, 255, width)
    pixels[..., 1] = 9 * number % 256
    pixels[..., 2] = np.linspace(0, 255, height)[:, None]
    pixels[4:16, 2 + 2 * number % 40 : 14 + 2 * number % 40] = (250, 30, 30)
    return pixels


def write_video(path: Path, frames: int = 8, size: tuple[int, int] = (64, 48), codec: str = "libx264",
                milliseconds: list[int] | None = None, turned: int = 0, pixels: str = "yuv420p",
                options: dict[str, str] | None = None) -> Path:
    """milliseconds  when each frame is shown; None: ten a second.  turned  degrees, against the clock"""
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = *size, pixels
        if milliseconds:
            stream.codec_context.time_base = Fraction(1, 1000)
        if turned:
            stream.set_display_rotation(turned)
        for number in range(frames):
            shown = av.VideoFrame.from_ndarray(frame(number, size), "rgb24")
            if milliseconds:
                shown.pts, shown.time_base = milliseconds[number], Fraction(1, 1000)
            container.mux(stream.encode(shown))
        container.mux(stream.encode())
    return path
