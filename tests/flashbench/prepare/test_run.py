"""Prepare leaves every source of the settings ready to be read, and touches nothing that is right already."""

import json
from types import SimpleNamespace

import pytest
import yaml

from flashbench.prepare import run_prepare
from flashbench.settings import Settings, load_settings
from specflash import targets
from specflash.errors import UserError
from tests.data.sets import lines, picture


@pytest.fixture
def settings(tmp_path) -> Settings:
    data = str(tmp_path / "run/data")
    (tmp_path / "x.yaml").write_text(yaml.safe_dump({
        "name": "x", "run": str(tmp_path / "run"), "scenes": {"train": 5, "test": 3},
        "dump": {"source": {"dataset": "llava-instruct", "path": data, "split": "train"}},
        "bench": {"tasks": {"captions": {"source": {
            "dataset": "coco-captions", "path": data, "split": "test", "limit": 2}}}}}))
    return load_settings(tmp_path / "x.yaml")


def test_every_source_is_there_with_its_count(settings, capsys):
    opened = run_prepare(settings)
    assert [(one.use, one.samples) for one in opened] == [("dump", 5), ("bench captions", 2)]
    assert "draw scenes: 8/8" in capsys.readouterr().err


def test_a_second_run_changes_nothing(settings):
    def files() -> dict:
        return {path: (path.stat().st_mtime_ns, path.read_bytes())
                for path in settings.data_folder.rglob("*") if path.is_file()}

    run_prepare(settings)
    before = files()
    run_prepare(settings)
    assert files() == before
    assert len(before) > 8


def test_a_run_that_was_cut_short_is_completed(settings):
    run_prepare(settings)
    missing = next(settings.data_folder.rglob("*.jpg"))
    picture = missing.read_bytes()
    missing.unlink()
    run_prepare(settings)
    assert missing.read_bytes() == picture


def test_no_scenes_are_drawn_for_other_data(settings, tmp_path):
    run_prepare(settings)
    elsewhere = settings.model_copy(update={"run": tmp_path / "other"})
    assert [one.samples for one in run_prepare(elsewhere)] == [5, 2]
    assert [file.name for file in elsewhere.data_folder.iterdir()] == ["report.json"]


def test_a_source_that_does_not_open_is_named(settings):
    run_prepare(settings)
    (settings.data_folder / "llava_instruct_train.json").write_text(json.dumps({"not": "a list"}))
    elsewhere = settings.model_copy(update={"run": settings.run / "other"})
    with pytest.raises(UserError, match=r"llava_instruct_train\.json"):
        run_prepare(elsewhere)


@pytest.fixture
def messy(tmp_path) -> Settings:
    """Nine rows to learn from, among them one of every fault; the benchmark asks about two of their pictures."""
    for number in range(6):
        picture(tmp_path, f"{number}.jpg", number)
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "0.jpg").read_bytes()[:900])
    right = [{"prompt": "What is it?", "image": f"{number}.jpg", "answer": "One two three."} for number in range(4)]
    lines(tmp_path / "train.jsonl", *right, right[1], right[2] | {"answer": " "},
          right[0] | {"image": "gone.jpg"}, right[0] | {"image": "cut.jpg"}, right[0] | {"prompt": 7})
    lines(tmp_path / "test.jsonl", *({"prompt": "Why?", "image": f"{number}.jpg"} for number in (9, 3, 4)))
    picture(tmp_path, "9.jpg", 0)
    source = {"dataset": "jsonl", "path": tmp_path}
    return Settings.model_validate({
        "name": "x", "run": tmp_path / "run", "dump": {"source": source, "error_budget": 0.5},
        "bench": {"tasks": {"t": {"source": source | {"split": "test"}}}}})


def test_every_fault_is_found_counted_and_named(messy, capsys):
    dump, bench = run_prepare(messy)
    file = messy.dump.source.path / "train.jsonl"
    assert (dump.samples, dump.usable, len(dump.sound), dump.duplicates, dump.unanswered) == (9, 5, 6, 1, 1)
    assert [(fault.where, fault.reason.partition(" ")[0]) for fault in dump.faults] == [
        (f"{file}: line 7", "no"), (f"{file}: line 8", str(file.parent / "cut.jpg")), (f"{file}: line 9", "`prompt`")]
    assert (dump.pictures, dump.examined, dump.broken) == (5, 5, 1)
    assert (bench.samples, bench.trained_on, bench.unanswered) == (3, 2, None)
    told = capsys.readouterr().err
    assert "WARNING: bench t: 2 of 3 samples show what dump.source shows too" in told
    assert f"dump: {file}: line 9: `prompt` is not a question" in told
    tree = json.loads((messy.data_folder / "report.json").read_text())
    assert tree["sources"][0]["faults"]["count"] == 3
    assert tree["sources"][0]["words"] == {"least": 3, "median": 6.0, "most": 6, "histogram": [
        {"from": 0, "below": 16, "samples": 6}, *tree["sources"][0]["words"]["histogram"][1:]]}


def test_too_much_that_is_bad_is_refused_after_the_report(messy):
    strict = messy.model_copy(update={"dump": messy.dump.model_copy(update={"error_budget": 0.3})})
    with pytest.raises(UserError, match=r"dump: 33\.3% of jsonl:train are bad, more than dump\.error_budget=0\.3"):
        run_prepare(strict)
    assert (messy.data_folder / "report.json").is_file()


def test_a_source_with_nothing_usable_is_refused(messy):
    file = messy.dump.source.path / "train.jsonl"
    lines(file, {"prompt": "Why?", "answer": ""})
    with pytest.raises(UserError, match=r"dump: jsonl:train has nothing usable among its 1 samples"):
        run_prepare(messy)


def test_a_task_that_skips_every_sample_is_told_so(messy):
    task = messy.bench.tasks["t"].model_copy(update={"skip": 3})
    none_left = messy.model_copy(update={"bench": messy.bench.model_copy(update={"tasks": {"t": task}})})
    with pytest.raises(UserError, match=r"bench t: no sample of jsonl:test is left: `skip` leaves the first 3 out"):
        run_prepare(none_left)


def test_drawn_clips_are_written_where_they_are_asked_for(tmp_path):
    source = {"dataset": "kinetics-400", "path": tmp_path / "data", "limit": 2}
    settings = Settings.model_validate({
        "name": "x", "run": tmp_path, "scenes": {"train": 1, "test": 1, "train_clips": 2, "test_clips": 1},
        "dump": {"source": source}, "bench": {"tasks": {"v": {"source": source | {"split": "test"}}}}})
    dump, bench = run_prepare(settings)
    assert [(one.samples, one.clips, one.pictures, one.trained_on) for one in (dump, bench)] == [
        (2, 2, 0, None), (1, 1, 0, 0)]


def test_prompts_too_long_for_the_dump_are_counted_by_the_target_itself(messy, monkeypatch):
    def encode(sample):
        return SimpleNamespace(length=len(sample.turns[0].question + (sample.turns[0].answer or "")))

    monkeypatch.setattr(targets, "load_encoder", lambda *settings: SimpleNamespace(encode=encode))
    short = messy.model_copy(update={"check": messy.check.model_copy(update={"prompts": 4}),
                                     "dump": messy.dump.model_copy(update={"max_length": 20})})
    assert [(one.encoded, one.too_long) for one in run_prepare(short)] == [(4, 4), (3, 0)]


def test_every_data_set_that_is_learnt_from_is_checked_and_counted_as_known(settings, tmp_path):
    for folder in (tmp_path, tmp_path / "more"):
        for number in range(4):
            picture(folder, f"{number}.jpg", number)
    asked = [{"prompt": "What is it?", "image": f"{number}.jpg", "answer": "One."} for number in range(4)]
    lines(tmp_path / "train.jsonl", *asked[:1])
    lines(tmp_path / "more" / "train.jsonl", *asked[1:3])
    lines(tmp_path / "test.jsonl", *asked[1:])
    source = {"dataset": "jsonl", "path": tmp_path}
    tree = settings.model_dump(mode="json")
    tree["dump"]["source"] = source | {"also": [source | {"path": tmp_path / "more"}]}
    tree["bench"]["tasks"] = {"asked": {"source": source | {"split": "test"}}}
    first, second, bench = run_prepare(Settings.model_validate(tree))
    assert [(one.use, one.samples) for one in (first, second)] == [("dump", 1), ("dump 2", 2)]
    assert bench.trained_on == 2
