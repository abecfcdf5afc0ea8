"""Qwen2.5-VL's own: native resolution, slices of two frames, and three positions a token."""

import pytest
import torch

from specflash.data.video import load_clip
from specflash.records import Clip, sample_id
from tests.families import tiny_of
from tests.tiny import grey, make_sample
from tests.videos import write_video


@pytest.fixture(scope="module")
def target(folders):
    return tiny_of("qwen2.5-vl", folders["qwen2.5-vl"])


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return Clip(write_video(tmp_path_factory.mktemp("clip") / "a.mp4", frames=7, size=(56, 56)).read_bytes(), 4)


@pytest.mark.parametrize(("size", "tokens"), [
    ((56, 56), 4), ((84, 56), 6), ((56, 84), 6), ((84, 84), 9), ((300, 300), 9), ((20, 20), 4)])
def test_a_picture_keeps_its_shape_within_the_processors_bounds(target, size, tokens):
    (_, length), = target.encode(make_sample(media=(grey(*size),))).spans
    assert length == tokens


@pytest.mark.parametrize(("frames", "slices"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (9, 4)])
def test_a_slice_is_two_frames_and_a_span(target, clip, frames, slices):
    """The video has 7 frames; 9 cannot be shown."""
    prompt = target.encode(make_sample(media=(Clip(clip.source, frames),)))
    assert [length for _, length in prompt.spans] == [4] * slices
    starts = [start for start, _ in prompt.spans]
    assert starts == [starts[0] + 4 * number for number in range(slices)]
    assert prompt.pixels["video_grid_thw"].tolist() == [[slices, 4, 4]]


def test_the_patches_of_a_slice_are_those_of_its_frames(target, clip):
    processor = target.processor.image_processor
    pixels = target.encode(make_sample(media=(clip,))).pixels["pixel_values_videos"].reshape(2, 16, 3, 2, 14 * 14)
    for number, frame in enumerate(load_clip(clip)):
        single = processor([frame], return_tensors="pt")["pixel_values"].reshape(16, 3, 2, 14 * 14)
        assert torch.equal(pixels[number // 2, :, :, number % 2], single[:, :, 0])


def test_the_last_frame_fills_up_the_last_slice(target, clip):
    pixels = target.encode(make_sample(media=(Clip(clip.source, 3),))).pixels["pixel_values_videos"]
    last = pixels.reshape(2, 16, 3, 2, 14 * 14)[1]
    assert torch.equal(last[:, :, 0], last[:, :, 1])


def test_text_behind_a_picture_stands_where_its_grid_ends(target):
    prompt = target.encode(make_sample(media=(grey(56, 56),)))
    (start, _), = prompt.spans
    placed = prompt.positions[:, 0]
    assert placed[:, start : start + 5].tolist() == [
        [start + step for step in row] for row in ([0, 0, 0, 0, 2], [0, 0, 1, 1, 2], [0, 1, 0, 1, 2])]
    behind = target.positions(prompt, prompt.length, 2)
    assert behind.tolist() == [[[prompt.length - 2, prompt.length - 1]]] * 3


def test_slices_stand_apart_by_their_seconds(target, clip):
    """Two positions a second."""
    prompt = target.encode(make_sample(media=(Clip(clip.source, 2), clip)))
    assert prompt.pixels["second_per_grid_ts"].tolist() == pytest.approx([1.2, 0.4])
    slow = Clip(clip.source, 3)  # 0.3 seconds from frame to frame, 0.6 from slice to slice
    placed = target.encode(make_sample(media=(slow,)))
    (first, _), (second, _) = placed.spans
    assert placed.positions[0, 0, second] - placed.positions[0, 0, first] == int(2 * 0.6)


def test_pictures_and_clips_have_placeholders_of_their_own(target, clip):
    prompt = target.encode(make_sample(media=(clip, grey(56, 56), clip)))
    image, video = target.visual_ids
    assert [int(prompt.ids[0, start]) for start, _ in prompt.spans] == [video, video, image, video, video]
    assert sample_id((clip,), ()) != sample_id((Clip(clip.source, 3),), ())
