"""Decoding the frames of a clip that are shown, or saying in one line why not. It knows no model.

PyAV opens every video first and lists its frames without decoding them: so a file that is cut off is
found out before anything decodes it, and which frames are shown does not depend on who decodes. Decord
decodes, which finds a frame in a long video faster; PyAV does where decord is missing or fails, and what
decord converts otherwise: turned videos, odd heights, more than eight bits. The pixels are the same.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
from av.error import FFmpegError
from PIL import Image

from specflash.data.media import MAX_PIXELS, MAX_RATIO, BadClip, load_picture, read_media, too_thin
from specflash.errors import one_line
from specflash.records import Clip, Medium

FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg"
"""None of them names other files: a play list would make the reader open what it lists."""
MAX_CLIP_PIXELS = 200_000_000
"""Of all frames that are shown together: 600 MB in memory."""
MAX_SECONDS = 3600.0
SLACK = 0.5
"""Seconds by which a container may overstate its length."""
PLAIN = frozenset({"yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p"})
"""Pixel formats that decord and PyAV turn into the same colours."""


class Frames(NamedTuple):
    """The shown frames of a clip, upright RGB, and at which second of the video each is shown."""

    pictures: tuple[Image.Image, ...]
    seconds: tuple[float, ...]


def load_frames(medium: Medium) -> tuple[Image.Image, ...]:
    """What is shown of a medium: a picture, or a clip's frames. Raises BadMedia."""
    return load_clip(medium) if isinstance(medium, Clip) else (load_picture(medium),)


def load_clip(clip: Clip, max_pixels: int = MAX_CLIP_PIXELS,
              max_seconds: float = MAX_SECONDS) -> tuple[Image.Image, ...]:
    """The clip's frames, upright RGB; fewer than it asks for where the part that is shown has fewer.

    Raises BadClip, in one line, for what is missing, empty, no video, cut off, longer than `max_seconds`
    or larger than `max_pixels` (all shown frames together), and for a part in which no frame lies.
    """
    return read_clip(clip, max_pixels, max_seconds).pictures


def read_clip(clip: Clip, max_pixels: int = MAX_CLIP_PIXELS, max_seconds: float = MAX_SECONDS) -> Frames:
    """The same, with the frames' seconds."""
    data = read_media(clip.source, BadClip, "video")
    name = str(clip.source) if isinstance(clip.source, Path) else f"video of {len(data)} bytes"
    if not data:
        raise BadClip(f"{name} is empty")
    try:
        facts = _look(data, name)
        shown = choose_frames(facts.seconds, clip)
        if not shown:
            raise BadClip(f"{name} shows no frame from second {clip.start or 0} to {clip.end or 'its end'}; its "
                          f"last one is at second {facts.seconds[-1]:.2f}")
        _check(facts, len(shown), name, max_pixels, max_seconds)
        arrays = _by_decord(data, facts, shown) if facts.plain else None
        if arrays is None:
            arrays = _by_pyav(data, shown)
    except (FFmpegError, EOFError, ValueError) as error:
        raise BadClip(f"{name} is no video, or damaged: {one_line(error)}") from None
    if len(arrays) < len(shown):
        raise BadClip(f"{name} is cut off or damaged: frame {shown[len(arrays)]} cannot be decoded")
    return Frames(tuple(map(Image.fromarray, arrays)), tuple(facts.seconds[index] for index in shown))


def choose_frames(seconds: Sequence[float], clip: Clip) -> list[int]:
    """Indices of the shown frames, ascending, of a video with frames at these seconds."""
    start, end = clip.start or 0.0, float("inf") if clip.end is None else clip.end
    inside = [index for index, second in enumerate(seconds) if start <= second < end]
    if len(inside) <= clip.frames:
        return inside
    return [inside[place] for place in np.linspace(0, len(inside) - 1, clip.frames).round().astype(int)]


@dataclass(frozen=True)
class _Facts:
    """What the container says.

    size     width and height
    seconds  at which each frame is shown, ascending, the first at 0
    plain    whether decord gives the same pixels as PyAV
    """

    size: tuple[int, int]
    seconds: list[float]
    plain: bool


def _open(data: bytes) -> Any:
    return closing(av.open(BytesIO(data), options={"format_whitelist": FORMATS}))


def _look(data: bytes, name: str) -> _Facts:
    with _open(data) as container:
        if not container.streams.video:
            raise BadClip(f"{name} holds no pictures")
        stream = container.streams.video[0]
        packets = [packet for packet in container.demux() if packet.size]
        own = [packet for packet in packets if packet.stream_index == stream.index]
        if any(packet.is_corrupt for packet in own) or _lacks(container, packets, len(own)):
            raise BadClip(f"{name} is cut off: it holds {len(own)} frames, not all that it should")
        seconds = _seconds([packet.pts for packet in own if not packet.is_discard], stream)
        if not seconds:
            raise BadClip(f"{name} holds no frame")
        size = stream.codec_context.width, stream.codec_context.height
    return _Facts(size, seconds, plain=_is_plain(data))


def _lacks(container: Any, packets: Sequence[Any], frames: int) -> bool:
    """Whether a container tells of more frames, or of a longer video, than it holds."""
    if "mp4" in container.format.name:  # counts its frames; others count what is not there too, or not at all
        return frames < container.streams.video[0].frames
    if container.duration is None:
        return False
    ends = [float((packet.pts + (packet.duration or 0)) * packet.time_base)
            for packet in packets if packet.pts is not None]
    start = (container.start_time or 0) / av.time_base
    return max(ends, default=0.0) - start + SLACK < container.duration / av.time_base


def _seconds(stamps: list[int | None], stream: Any) -> list[float]:
    """Of each frame in the order of showing. Old containers have no stamps: then one every 1 / rate."""
    if any(stamp is None for stamp in stamps):
        step = 1 / (stream.average_rate or Fraction(25))
        return [float(number * step) for number in range(len(stamps))]
    first = min(stamps, default=0)
    return [float((stamp - first) * stream.time_base) for stamp in sorted(stamps)]


def _is_plain(data: bytes) -> bool:
    with _open(data) as container:
        first = next(container.decode(video=0))
        return first.format.name in PLAIN and not first.rotation and first.height % 2 == 0


def _check(facts: _Facts, frames: int, name: str, max_pixels: int, max_seconds: float) -> None:
    width, height = facts.size
    if facts.seconds[-1] > max_seconds:
        raise BadClip(f"{name} is {facts.seconds[-1]:.0f} seconds long, more than the {max_seconds:.0f} allowed")
    if width * height > MAX_PIXELS or width * height * frames > max_pixels:
        raise BadClip(f"{name} shows {frames} frames of {width} × {height} pixels, more than the {max_pixels} pixels "
                      "allowed together: show fewer frames or a smaller video")
    if too_thin(facts.size):
        raise BadClip(f"{name} has {width} × {height} pixels: one side may be at most {MAX_RATIO} times as long as "
                      "the other")


def _by_decord(data: bytes, facts: _Facts, shown: list[int]) -> list[np.ndarray] | None:
    """The frames [H, W, 3], or None where decord is not there or cannot read them."""
    decord = _decord()
    if decord is None:
        return None
    try:
        reader = decord.VideoReader(BytesIO(data), num_threads=1)
        return list(reader.get_batch(shown).asnumpy()) if len(reader) == len(facts.seconds) else None
    except (decord.DECORDError, RuntimeError, IndexError):
        return None


@cache
def _decord() -> Any | None:
    # On a damaged stream it tries to go on thousands of times before it gives up.
    os.environ.setdefault("DECORD_EOF_RETRY_MAX", "64")
    programs = os.environ.get("PATH")
    try:
        import decord
    except (ImportError, OSError):
        return None
    finally:  # it puts its own folder into the search path of the whole process
        if programs is not None:
            os.environ["PATH"] = programs
    return decord


def _by_pyav(data: bytes, shown: list[int]) -> list[np.ndarray]:
    """The frames [H, W, 3], upright; fewer where one cannot be decoded."""
    wanted, arrays = set(shown), []
    with _open(data) as container:
        for number, frame in enumerate(container.decode(video=0)):
            if number in wanted:
                if frame.is_corrupt:
                    return arrays
                arrays.append(np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), frame.rotation // 90)))
            if number == shown[-1]:
                break
    return arrays
