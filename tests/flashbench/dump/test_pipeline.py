"""The dump as a whole, on a tiny LLaVA: every sample once, exact, bad ones named, GPUs shared."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from ray.data import DataContext

from flashbench.dump import pipeline
from flashbench.dump.pipeline import run_dump
from flashbench.dump.quarantine import read_quarantine
from flashbench.dump.read import open_source
from flashbench.dump.shards import piece_name
from flashbench.dump.store import FeatureStore
from flashbench.regenerate import run_regenerate
from flashbench.settings import Settings
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla
from specflash.errors import UserError
from specflash.files import DiskFull
from specflash.prefix import FeaturePasses
from specflash.sampling import Sampling
from tests.flashbench.dump.meeting import MeetingExtractor
from tests.flashbench.dump.source import exchange, jpeg, settings_for, write_rows, write_source
from tests.tiny import tiny_target

pytestmark = [pytest.mark.long(seconds=80), pytest.mark.usefixtures("dump_ray")]

GOOD, TRUNCATED, MISSING, LONG, COPY = 12, 12, 13, 14, 15
TOTAL = 16
SAME_PICTURE = 7
"""This sample asks about the picture of sample 0."""


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Twelve good samples, two of one picture, a truncated picture, a missing one, a long answer, and a copy
    of sample 0."""
    folder = write_source(tmp_path_factory.mktemp("source") / "data", 15)
    truncated, missing = (folder / "images" / f"{number}.jpg" for number in (TRUNCATED, MISSING))
    truncated.write_bytes(truncated.read_bytes()[:-200])
    missing.unlink()
    rows = [*map(exchange, range(LONG)), exchange(LONG, "long " * 100), exchange(0)]
    rows[SAME_PICTURE]["image"] = rows[0]["image"]
    write_rows(folder, rows)
    return folder


@pytest.fixture(scope="module")
def first(weights, source, tmp_path_factory):
    """Two actors, one logical GPU each. (settings, summary, copy of the store as it was)"""
    settings = settings_for(weights, source, tmp_path_factory.mktemp("run"), actors=2, gpus_per_actor=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DataContext.get_current(), "wait_for_min_actors_s", 240)
        patch.setattr(pipeline, "Extractor", MeetingExtractor)
        summary = run_dump(settings)
    return settings, summary, shutil.copytree(settings.dump_folder, settings.run / "copy")


def test_every_sample_of_the_source_is_accounted_for(first):
    _, summary, _ = first
    assert (summary.total, summary.written, summary.quarantined) == (TOTAL, GOOD, 3)
    assert (summary.skipped, summary.duplicates) == (0, 1)


def test_every_good_sample_is_stored_once(first):
    settings, _, store = first
    opened = open_source(settings.dump)
    assert ids_on_disk(store) == sorted(opened[index].id for index in range(GOOD))
    assert FeatureStore(store).verify() == []


def test_stored_features_equal_those_of_each_sample_alone_to_the_last_bit(first, weights):
    settings, _, store = first
    target, opened = tiny_target(weights), open_source(settings.dump)
    torch.set_num_threads(1)  # as in an actor with one CPU
    for index in range(GOOD):
        prompt = target.encode(opened[index])
        stored = FeatureStore(store).read(opened[index].id)
        assert torch.equal(stored.features, FeaturePasses(target).features(prompt).bfloat16())
        assert torch.equal(stored.ids, prompt.ids[0])


def test_samples_of_one_picture_are_done_together_and_store_it_once(first):
    settings, _, store = first
    opened, rows = open_source(settings.dump), {row.id: row for row in FeatureStore(store).rows}
    asked, again = rows[opened[0].id], rows[opened[SAME_PICTURE].id]
    assert (asked.shard, asked.prefix) == (again.shard, again.prefix)
    assert len({row.prefix for row in rows.values()}) == GOOD - 1


def test_each_bad_sample_is_in_quarantine_with_its_reason(first):
    _, _, store = first
    reasons = {entry.index: entry.reason for entry in read_quarantine(store)}
    assert set(reasons) == {TRUNCATED, MISSING, LONG}
    assert "truncated" in reasons[TRUNCATED].lower()
    assert f"{MISSING}.jpg" in reasons[MISSING]
    assert "dump.max_length=256" in reasons[LONG]


def test_two_actors_got_different_gpus_and_shared_the_work(first):
    _, _, store = first
    writers = [json.loads(index.read_text())["writer"] for index in store.glob("shard-*.json")]
    gpu_of = {writer["pid"]: tuple(writer["gpus"]) for writer in writers}
    assert len(gpu_of) == 2
    assert sorted(gpu_of.values()) == [("0",), ("1",)]
    assert {writer["device"] for writer in writers} == {"cpu"}  # "auto" where torch sees no CUDA


def test_the_next_run_does_only_what_is_left(first):
    """One picture is repaired meanwhile, another number of actors takes over, no bad one is allowed."""
    settings, _, store = first
    source = settings.dump.source.path
    (source / "images" / f"{MISSING}.jpg").write_bytes(jpeg(MISSING))
    stricter = settings_for(Path(settings.target.weights), source, settings.run, error_budget=0.0, batch=5)
    before = files_of(settings.dump_folder)
    with pytest.raises(UserError, match=rf"2 of {TOTAL} samples are bad.*sample {TRUNCATED}: .*good ones are kept"):
        run_dump(stricter)
    after = files_of(settings.dump_folder)
    assert before.items() <= after.items()  # same inode and time: nothing was extracted again
    assert set(ids_on_disk(settings.dump_folder)) - set(ids_on_disk(store)) == {
        open_source(settings.dump)[MISSING].id}
    assert ids_on_disk(settings.dump_folder) == sorted(set(ids_on_disk(settings.dump_folder)))
    assert {entry.index for entry in read_quarantine(settings.dump_folder)} == {TRUNCATED, LONG}


def test_a_full_disk_stops_the_dump_with_one_line(weights, tmp_path):
    """/dev/full stands where one shard would be written: the kernel's own ENOSPC."""
    settings = settings_for(weights, write_source(tmp_path / "data", 4), tmp_path / "run")
    opened = open_source(settings.dump)
    settings.dump_folder.mkdir(parents=True)
    shard = f"shard-{piece_name([opened[2].id, opened[3].id])}-0.safetensors.tmp"
    (settings.dump_folder / shard).symlink_to("/dev/full")
    with pytest.raises(DiskFull, match=r"no space left .*what is finished is kept") as caught:
        run_dump(settings)
    assert "\n" not in str(caught.value)
    store = FeatureStore(settings.dump_folder)
    assert set(store.ids()) <= {opened[0].id, opened[1].id}
    assert store.verify() == []


def test_a_store_of_another_target_is_refused_before_any_work(first):
    settings, _, _ = first
    other = settings.model_copy(update={"target": settings.target.model_copy(update={"dtype": "bfloat16"})})
    with pytest.raises(UserError, match="dtype float32 → bfloat16"):
        run_dump(other)


def test_a_missing_data_folder_is_one_line(weights, tmp_path):
    with pytest.raises(UserError, match=str(tmp_path / "nowhere")):
        run_dump(settings_for(weights, tmp_path / "nowhere", tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def ids_on_disk(store: Path) -> list[str]:
    """Every row of every index, repeats included."""
    return sorted(row["id"] for index in store.glob("shard-*.json")
                  for row in json.loads(index.read_text())["samples"])


def files_of(store: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in store.glob("shard-*")}


def test_the_targets_own_answers_are_stored_and_not_the_data_sets(weights, source, tmp_path):
    """And a store holds one kind of answers only."""
    settings = settings_for(weights, source, tmp_path / "run", answers="target", max_new_tokens=7, batch=5)
    (source / "images" / f"{MISSING}.jpg").write_bytes(jpeg(MISSING))
    summary = run_dump(settings)
    # Sample 14's long answer is not read, sample 15 is sample 0 again.
    assert (summary.written, summary.quarantined, summary.duplicates) == (GOOD + 2, 1, 1)
    target, store = tiny_target(weights), FeatureStore(settings.dump_folder)
    for index in (0, LONG):
        question = open_source(settings.dump)[index]
        prompt = target.encode(question)
        said = generate(target, Vanilla(Vanilla.Config(width=target.width)), prompt, Sampling(max_new_tokens=7)).ids
        assert store.read(question.id).ids.tolist() == prompt.ids[0].tolist() + said
    answers = {entry["id"]: entry["conversations"][1]["value"] for entry in regenerated(settings)}
    assert answers == {id: target.decode(store.answer_ids(id).tolist()).strip() for id in store.ids()}
    with pytest.raises(UserError, match=r"made with other settings .*answers target → dataset"):
        run_dump(settings.model_copy(update={"dump": settings.dump.model_copy(update={"answers": "dataset"})}))


def regenerated(settings: Settings) -> list[dict]:
    """The same answers as a data set: entries of `specflash regenerate`, by the same actors."""
    account = run_regenerate(settings)
    assert (account.written, account.quarantined, account.duplicates) == (GOOD + 2, 1, 1)
    return json.loads((settings.regenerated_folder / "llava_instruct_train.json").read_text())
