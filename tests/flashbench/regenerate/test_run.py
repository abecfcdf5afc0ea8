"""Regenerated answers: the target's own, every sample accounted for, a kill costs little, readers take the files."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
import torch

from flashbench.dump.quarantine import read_quarantine
from flashbench.dump.read import Reader
from flashbench.regenerate import run
from flashbench.regenerate.answer import temperature_of, way_of
from flashbench.regenerate.files import entry_of, reference
from flashbench.regenerate.run import run_regenerate
from flashbench.settings import RegenerateSettings, Settings
from specflash.data import open_dataset
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla
from specflash.errors import UserError
from specflash.records import Clip, Turn, picture_bytes
from specflash.sampling import Sampling
from tests.flashbench.dump.source import exchange, settings_for, write_rows, write_source
from tests.tiny import make_sample, picture, save_tiny_llava, tiny_target

SAMPLES, BROKEN, LIMIT = 6, 3, 5


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture
def settings(weights, tmp_path) -> Settings:
    """Six samples, the fourth with a broken picture, and the first one once more with another answer."""
    folder = write_source(tmp_path / "data", SAMPLES)
    broken = folder / "images" / f"{BROKEN}.jpg"
    broken.write_bytes(broken.read_bytes()[:100])
    write_rows(folder, [*map(exchange, range(SAMPLES)), exchange(0, "another answer")])
    return settings_for(weights, folder, tmp_path / "run", max_new_tokens=LIMIT)


@pytest.fixture
def pool(monkeypatch):
    """The pool's own readers and workers, in this process; returns the ids that they were given.

    `stop_after` pieces it is as if the process had been killed.
    """
    given = []

    def in_process(settings, pieces, indices, worker, title, stop_after=None):
        reader, works = Reader(settings.dump), worker(settings)
        for number, piece in enumerate(pieces):
            if number == in_process.stop_after:
                raise KeyboardInterrupt
            given.extend(piece)
            rows = [{"samples": [{"index": indices[sample], "id": sample} for sample in piece]}]
            yield from works(reader(pa.Table.from_pylist(rows))).to_pylist()

    in_process.stop_after = None
    in_process.given = given
    monkeypatch.setattr(run, "run_pool", in_process)
    return in_process


def on_cpu(settings: Settings, **regenerate: object) -> Settings:
    target = settings.target.model_copy(update={"device": "cpu"})
    return settings.model_copy(update={"target": target, "regenerate": RegenerateSettings(**regenerate)})


def read_back(settings: Settings, name: str, split: str = "train"):
    return open_dataset(name, settings.regenerated_folder, split)


def test_every_sample_is_written_repeated_or_in_quarantine(settings, pool):
    account = run_regenerate(on_cpu(settings))
    assert (account.total, account.written, account.duplicates, account.quarantined) == (SAMPLES + 1, SAMPLES - 1, 1, 1)
    (entry,) = read_quarantine(settings.regenerated_folder)
    assert entry.index == BROKEN
    again = run_regenerate(on_cpu(settings))
    assert (again.total, again.written, again.skipped, again.duplicates, again.quarantined) == (
        SAMPLES + 1, 0, SAMPLES - 1, 1, 1)


def test_the_answers_are_the_targets_own_and_the_reader_takes_them(settings, pool, weights):
    run_regenerate(on_cpu(settings))
    data, target = read_back(settings, "llava-instruct"), tiny_target(weights)
    source = open_dataset("llava-instruct", settings.dump.source.path, "train")
    expected = [index for index in range(SAMPLES) if index != BROKEN]
    assert len(data) == len(expected)
    for place, index in enumerate(expected):
        pictures, (turn,) = data.entry(place)
        asked = make_sample(f"What is picture {index}?", media=source.entry(index)[0])
        said = generate(target, Vanilla(Vanilla.Config(width=target.width)), target.encode(asked),
                        Sampling(max_new_tokens=LIMIT)).ids
        assert turn == Turn(f"What is picture {index}?", target.decode(said).strip())
        assert [picture_bytes(one) for one in pictures] == [picture_bytes(one) for one in source.entry(index)[0]]


def test_both_files_hold_the_same_entries_and_name_media_by_reference(settings, pool):
    run_regenerate(on_cpu(settings))
    folder = settings.regenerated_folder
    entries = json.loads((folder / "llava_instruct_train.json").read_text())
    assert entries == [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    data = settings.dump.source.path / "images"
    assert [(folder / entry["image"]).resolve() for entry in entries[:2]] == [data / "0.jpg", data / "1.jpg"]
    assert {tuple(entry["cut"]) for entry in entries} <= {(True,), (False,)}
    assert all(link.is_symlink() for link in (folder / "media").iterdir())


def test_a_kill_costs_the_piece_it_hit_and_no_other(settings, pool):
    pool.stop_after = 1
    with pytest.raises(KeyboardInterrupt):
        run_regenerate(on_cpu(settings))
    assert not (settings.regenerated_folder / "train.jsonl").exists()
    done, pool.stop_after = list(pool.given), None
    account = run_regenerate(on_cpu(settings))
    assert (account.written, account.skipped) == (SAMPLES - 1 - len(done), len(done))
    assert sorted(pool.given) == sorted(set(pool.given))  # nobody was asked twice
    assert len(read_back(settings, "llava-instruct")) == SAMPLES - 1


def test_a_larger_sampled_share_asks_only_those_that_change(settings, pool):
    run_regenerate(on_cpu(settings))
    asked = len(pool.given)
    half = RegenerateSettings(sampled=0.5, seed=4)
    account = run_regenerate(on_cpu(settings, sampled=0.5, seed=4))
    entries = json.loads((settings.regenerated_folder / "llava_instruct_train.json").read_text())
    drawn = [entry["id"] for entry in entries if entry["temperature"] == 1.0]
    assert drawn == [entry["id"] for entry in entries if temperature_of(entry["id"], half) == 1.0]
    assert 0 < len(drawn) < len(entries)
    assert account.written == len(drawn)
    assert account.skipped == len(entries) - len(drawn)
    assert len(pool.given) - asked <= len(drawn) + 1  # and the broken one


def test_which_samples_are_drawn_and_what_follows_from_the_seed_alone():
    ids = [f"{number:032x}" for number in range(2000)]
    first, again, other = (RegenerateSettings(sampled=0.25, seed=seed) for seed in (1, 1, 2))
    drawn = [temperature_of(sample, first) for sample in ids]
    assert drawn == [temperature_of(sample, again) for sample in ids]
    assert drawn != [temperature_of(sample, other) for sample in ids]
    assert 400 < drawn.count(1.0) < 600  # 500 ± 5 σ
    assert {temperature_of(sample, RegenerateSettings(sampled=1.0)) for sample in ids} == {1.0}
    assert {temperature_of(sample, RegenerateSettings()) for sample in ids} == {0.0}


def test_a_draw_follows_the_law_at_its_temperature_and_only_its_own_luck():
    cpu, logits = torch.device("cpu"), torch.tensor([0.0, 1.0, 2.0])
    everything = RegenerateSettings(sampled=1.0, temperature=2.0, seed=3)
    draws = [way_of(f"{number}", everything, cpu)(logits) for number in range(4000)]
    law = torch.softmax(logits / 2, -1)
    shares = torch.bincount(torch.tensor(draws), minlength=3) / len(draws)
    assert (shares - law).abs().max() < 5 * 0.5 / 4000 ** 0.5
    one, two = way_of("a", everything, cpu), way_of("a", everything, cpu)
    assert [one(logits) for _ in range(50)] == [two(logits) for _ in range(50)]
    assert way_of("a", RegenerateSettings(), cpu) is None


def test_a_picture_without_a_file_gets_one(tmp_path):
    name = reference(tmp_path, picture())
    assert name.startswith("media/") and name.endswith(".png")
    assert (tmp_path / name).read_bytes() == picture()
    assert reference(tmp_path, picture()) == name


def test_a_medium_in_a_file_is_linked_and_the_link_is_relative(tmp_path):
    folder, clip = tmp_path / "answers", tmp_path / "videos" / "1.mp4"
    clip.parent.mkdir()
    clip.write_bytes(b"moving")
    name = reference(folder, Clip(clip, 8))
    assert (folder / name).read_bytes() == b"moving"
    assert not (folder / name).readlink().is_absolute()
    answered = {"turns": [["What?", "A ball."]], "temperature": 0.0, "cut": [False]}
    entry = entry_of(folder, "a", [Clip(clip, 8)], answered)
    assert (entry["video"], entry["conversations"][0]["value"]) == (name, "<video>\nWhat?")
    with pytest.raises(UserError, match="parts of videos"):
        reference(folder, Clip(clip, 8, 1.0, 2.0))


def test_too_many_bad_samples_are_an_error_after_the_good_ones_are_written(settings, pool):
    dump = settings.dump.model_copy(update={"error_budget": 0.0})
    with pytest.raises(UserError, match=rf"1 of {SAMPLES + 1} samples are bad"):
        run_regenerate(on_cpu(settings.model_copy(update={"dump": dump}).placed()))
    assert len(read_back(settings, "llava-instruct")) == SAMPLES - 1
