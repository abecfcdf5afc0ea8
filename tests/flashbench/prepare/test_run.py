"""Prepare leaves every source of the settings ready to be read, and touches nothing that is right already."""

import json

import pytest
import yaml

from flashbench.prepare import run_prepare
from flashbench.settings import Settings, load_settings
from specflash.errors import UserError


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
    assert not elsewhere.data_folder.exists()


def test_a_source_that_does_not_open_is_named(settings):
    run_prepare(settings)
    (settings.data_folder / "llava_instruct_train.json").write_text(json.dumps({"not": "a list"}))
    elsewhere = settings.model_copy(update={"run": settings.run / "other"})
    with pytest.raises(UserError, match=r"llava_instruct_train\.json"):
        run_prepare(elsewhere)
