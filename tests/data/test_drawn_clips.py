"""Drawn clips on disk: Kinetics-400's layout, the same bytes every time, read by the same reader."""

import csv

import pytest

from specflash.data import open_dataset
from specflash.data.clip_grading import grade_clip
from specflash.data.clip_scenes import draw_clip
from specflash.data.drawn_clips import caption_of, mp4, read_clip_truth, write_clips
from specflash.data.kinetics import QUESTION
from specflash.data.video import read_clip
from specflash.records import Turn


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    assert write_clips(folder, train=3, test=1, seed=0) == {"train_clips": 3, "test_clips": 1}
    return folder


def files(folder):
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
            for path in folder.rglob("*") if path.is_file()}


def test_layout_and_list(folder):
    with (folder / "test.csv").open(newline="") as lines:
        [row] = csv.DictReader(lines)
    clip = draw_clip(100_000)
    assert row == {"label": clip.label, "youtube_id": "c0000100000", "time_start": "0", "time_end": "4",
                   "split": "test", "caption": caption_of(clip)}
    assert (folder / "test" / clip.label / "c0000100000_000000_000004.mp4").read_bytes() == mp4(clip)
    assert len(list((folder / "train").rglob("*.mp4"))) == 3


def test_the_reader_finds_every_clip_with_its_caption(folder):
    dataset = open_dataset("kinetics-400", folder, "train")
    assert (len(dataset), dataset.missing) == (3, ())
    truth = read_clip_truth(folder, "train")
    for sample in dataset:
        [clip], [turn] = sample.media, sample.turns
        things = truth[clip.source.name]
        assert turn == Turn(QUESTION, caption_of(draw_clip(things.seed)))
        grade = grade_clip(turn.answer, things)
        assert [grade.objects.f1, grade.colours.f1, grade.motions.f1] == [1.0, 1.0, 1.0]


def test_a_clip_shows_what_was_drawn(folder):
    [sample] = open_dataset("kinetics-400", folder, "test", frames=8)
    shown = read_clip(sample.media[0])
    assert shown.seconds == (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
    for picture, drawn in zip(shown.pictures, draw_clip(100_000).frames(), strict=True):
        assert picture.size == (336, 336)
        assert abs(sum(picture.resize((1, 1)).getpixel((0, 0))) - drawn.mean((0, 1)).sum()) < 12


def test_writing_again_touches_nothing_and_more_clips_leave_the_first_as_they_are(folder, tmp_path):
    before = files(folder)
    write_clips(folder, train=3, test=1, seed=0)
    assert files(folder) == before
    write_clips(tmp_path, train=1, test=0, seed=0)
    small = files(tmp_path)
    assert sorted(small) == ["train.csv", f"train/{draw_clip(0).label}/c0000000000_000000_000004.mp4",
                             "truth_clips_train.json"]
    assert all(data == before[name][1] for name, (_, data) in small.items() if name.endswith(".mp4"))
