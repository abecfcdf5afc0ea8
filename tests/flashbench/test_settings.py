"""Settings: what a file says is what a stage gets; what it cannot mean is refused in one line."""

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from flashbench.settings import load_settings, native_precision, save_settings
from specflash.errors import UserError

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "jobs/configs").glob("*.yaml"))
SMALLEST = {"name": "x", "run": "runs/x", "dump": {"source": {"dataset": "llava-instruct"}}, "bench": {"tasks": {}}}


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump(SMALLEST))
    return path


def refusal(path: Path, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        load_settings(path, overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_there_are_configs():
    assert "demo" in [path.stem for path in CONFIGS]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_of_the_project_is_valid(path):
    assert load_settings(path).name == path.stem


def test_an_override_replaces_only_its_own_key(file):
    before, after = load_settings(file), load_settings(file, ["train.lr=3e-4"])
    assert after.train.lr == 3e-4
    assert after.model_copy(update={"train": before.train}) == before


def test_overrides_reach_into_sections_that_the_file_leaves_out(file):
    assert load_settings(file, ["drafts.specflash.k=7"]).drafts["specflash"] == {"k": 7}
    assert load_settings(file, ["bench.methods=[vanilla, eagle]"]).bench.methods == ("vanilla", "eagle")


def test_the_last_override_wins(file):
    assert load_settings(file, ["train.epochs=2", "train.epochs=3"]).train.epochs == 3


@pytest.mark.parametrize(("override", "wrong", "near"), [
    ("train.epoch=3", "train.epoch", "epochs"),
    ("trian.epochs=3", "trian", "train"),
    ("dump.source.datasets=a", "dump.source.datasets", "dataset"),
])
def test_an_unknown_key_is_refused_with_the_nearest(file, override, wrong, near):
    message = refusal(file, override)
    assert f"unknown key `{wrong}`" in message
    assert f"did you mean `{near}`" in message


def test_every_wrong_key_is_named_at_once(file):
    message = refusal(file, "train.epoch=3", "serve.prot=1")
    assert "`train.epoch`" in message
    assert "`serve.prot`" in message


def test_a_value_out_of_range_is_refused_with_its_key(file):
    assert "`train.epochs`" in refusal(file, "train.epochs=0")


def test_a_missing_section_is_refused_with_its_key(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("name: x\nrun: runs/x\nbench: {tasks: {}}\n")
    assert "`dump`" in refusal(path)


@pytest.mark.parametrize(("text", "reason"), [
    ("name: [1", "not valid YAML"),
    ("- a\n- b", "must hold a mapping"),
    ("", "must hold a mapping"),
])
def test_what_is_no_settings_file_is_refused(tmp_path, text, reason):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    assert reason in refusal(path)


def test_a_missing_file_is_refused_by_its_path(tmp_path):
    assert str(tmp_path / "no.yaml") in refusal(tmp_path / "no.yaml")


@pytest.mark.parametrize("override", ["train.epochs", "name.first=x"])
def test_what_is_no_override_is_refused(file, override):
    assert override.partition("=")[0] in refusal(file, override)


def test_saved_settings_read_back_the_same(file, tmp_path):
    settings = load_settings(file, ["train.lr=3e-4", "serve.methods=[eagle]"])
    save_settings(settings, tmp_path / "run" / "settings.yaml")
    assert load_settings(tmp_path / "run" / "settings.yaml") == settings


def test_settings_do_not_change_under_a_stage(file):
    with pytest.raises(ValidationError):
        load_settings(file).train.lr = 1.0


def test_everything_lies_under_the_run_folder(file):
    settings = load_settings(file)
    for place in (settings.data_folder, settings.dump_folder, settings.draft_folder("eagle")):
        assert place.is_relative_to(settings.run)


def test_another_run_folder_takes_the_data_inside_it_along(tmp_path):
    settings = load_settings("jobs/configs/demo.yaml", ["run=/elsewhere/demo"])
    assert settings.dump.source.path == settings.data_folder == Path("/elsewhere/demo/data")
    assert settings.bench.tasks["photographs"].source.path is None


def test_auto_precision_is_named_on_loading(file):
    settings = load_settings(file, ["target.dtype=auto", "train.precision=auto"])
    assert settings.target.dtype == settings.train.precision == native_precision() != "auto"
