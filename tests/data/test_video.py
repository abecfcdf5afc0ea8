"""Clips: the shown frames are the same whoever decodes them; what is damaged is told, and never waited for."""

import time

import numpy as np
import pytest

from specflash.data import video
from specflash.data.media import BadClip
from specflash.data.video import choose_frames, load_clip, load_frames, read_clip
from specflash.records import Clip
from tests.videos import frame, write_video

VIDEOS = {
    "h264": {},
    "mpeg4": {"codec": "mpeg4"},
    "vp9.webm": {"codec": "libvpx-vp9"},
    "avi": {"codec": "mpeg4"},
    "full range": {"pixels": "yuvj420p"},
    "odd width": {"size": (65, 48), "codec": "mpeg4"},
    "odd height": {"size": (66, 49), "codec": "mpeg4"},
    "odd both": {"size": (67, 51), "codec": "mpeg4"},
    "ten bits": {"pixels": "yuv420p10le"},
    "variable rate": {"milliseconds": [0, 40, 80, 500, 540, 1200, 1210, 2900]},
    "one frame": {"frames": 1},
    "turned": {"turned": 90},
    "upside down": {"turned": 180},
}


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    return {name: write_video(folder / (name if "." in name else f"{name}.{'avi' if name == 'avi' else 'mp4'}"), **made)
            for name, made in VIDEOS.items()}


def stacked(pictures):
    return np.stack([np.asarray(picture) for picture in pictures]).astype(int)


@pytest.mark.parametrize("name", VIDEOS)
@pytest.mark.parametrize("frames", [1, 3, 20])
def test_decord_and_pyav_show_the_same(videos, monkeypatch, name, frames):
    clip = Clip(videos[name], frames)
    one = read_clip(clip)
    monkeypatch.setattr(video, "_by_decord", lambda *given: None)
    other = read_clip(clip)
    assert one.seconds == other.seconds
    assert np.abs(stacked(one.pictures) - stacked(other.pictures)).max() <= 1


@pytest.mark.parametrize("name", ["h264", "mpeg4", "vp9.webm", "full range", "odd width", "variable rate", "one frame"])
def test_decord_is_what_decodes_ordinary_videos(videos, monkeypatch, name):
    monkeypatch.setattr(video, "_by_pyav", None)
    assert load_clip(Clip(videos[name], 4))


def test_without_decord_pyav_decodes(videos, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "decord", None)
    assert len(load_clip(Clip(videos["h264"], 4))) == 4


def test_frames_are_evenly_spaced_and_look_as_they_were_drawn(videos):
    shown = read_clip(Clip(videos["h264"], 3))
    assert shown.seconds == pytest.approx((0.0, 0.4, 0.7))
    drawn = stacked([frame(number) for number in (0, 4, 7)])
    assert np.abs(stacked(shown.pictures) - drawn).mean() < 8


@pytest.mark.parametrize(("name", "turns"), [("turned", 1), ("upside down", 2)])
def test_a_turned_video_is_shown_upright(videos, name, turns):
    picture, = load_clip(Clip(videos[name], 1))
    drawn = np.rot90(frame(0), turns)
    assert np.asarray(picture).shape == drawn.shape
    assert np.abs(stacked([picture])[0] - drawn).mean() < 8


@pytest.mark.parametrize(("seconds", "clip", "expected"), [
    ([0, 1, 2, 3, 4], Clip(b"", 5), [0, 1, 2, 3, 4]),
    ([0, 1, 2, 3, 4], Clip(b"", 3), [0, 2, 4]),
    ([0, 1, 2, 3, 4], Clip(b"", 2), [0, 4]),
    ([0, 1, 2, 3, 4], Clip(b"", 1), [0]),
    ([0, 1], Clip(b"", 4), [0, 1]),
    ([0, 1, 2, 3, 4], Clip(b"", 9, start=1, end=3), [1, 2]),
    ([0, 1, 2, 3, 4], Clip(b"", 2, start=2), [2, 4]),
    ([0, 0.1, 5, 9], Clip(b"", 4, end=5), [0, 1]),
    ([0, 1], Clip(b"", 4, start=7), []),
])
def test_frames_are_chosen_by_their_seconds(seconds, clip, expected):
    assert choose_frames(seconds, clip) == expected


def test_bytes_are_read_like_the_file(videos):
    assert (stacked(load_frames(Clip(videos["h264"], 2)))
            == stacked(load_frames(Clip(videos["h264"].read_bytes(), 2)))).all()


def refused(act, words):
    started = time.perf_counter()
    with pytest.raises(BadClip, match=words) as caught:
        act()
    assert "\n" not in str(caught.value)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(("data", "words"), [
    (b"", "is empty"),
    (b"this is no video", "is no video"),
    (b"\x89PNG\r\n\x1a\n" + bytes(60), "is no video"),
    (b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n", "is no video"),
])
def test_what_is_no_video_is_refused(tmp_path, data, words):
    (tmp_path / "a.mp4").write_bytes(data)
    refused(lambda: load_clip(Clip(tmp_path / "a.mp4", 2)), rf"a.mp4 {words}")
    refused(lambda: load_clip(Clip(data, 2)), words)


def test_a_missing_video_is_refused(tmp_path):
    refused(lambda: load_clip(Clip(tmp_path / "gone.mp4", 2)), "cannot read the video .*gone.mp4: No such file")


@pytest.mark.parametrize("kept", [0.95, 0.8, 0.5, 0.2])
@pytest.mark.parametrize(("name", "made"), [
    ("a.mp4", {}), ("b.mp4", {"options": {"movflags": "faststart"}}), ("c.avi", {"codec": "mpeg4"}),
    ("d.mkv", {"frames": 120})])
def test_a_truncated_video_is_refused(tmp_path, name, made, kept):
    data = write_video(tmp_path / name, **made).read_bytes()
    refused(lambda: load_clip(Clip(data[: int(kept * len(data))], 3)), "cut off|damaged|no picture|no frame")


def test_a_damaged_stream_ends_soon_one_way_or_the_other(tmp_path):
    data = write_video(tmp_path / "a.mp4", frames=12).read_bytes()
    generator = np.random.default_rng(0)
    started = time.perf_counter()
    for _ in range(20):
        spoilt = bytearray(data)
        for place in generator.integers(40, len(data), 12):
            spoilt[place] = generator.integers(256)
        try:
            assert load_clip(Clip(bytes(spoilt), 3))
        except BadClip as error:
            assert "\n" not in str(error)
    assert time.perf_counter() - started < 10


def test_limits_are_told(videos):
    clip = Clip(videos["h264"], 4)
    refused(lambda: load_clip(clip, max_pixels=64 * 48 * 4 - 1), "4 frames of 64 × 48 pixels, more than")
    refused(lambda: load_clip(clip, max_seconds=0.5), "seconds long, more than")
    refused(lambda: load_clip(Clip(videos["h264"], 4, start=50)), "no frame from second 50 to its end; its last one")
    assert len(load_clip(clip, max_pixels=64 * 48 * 4)) == 4
