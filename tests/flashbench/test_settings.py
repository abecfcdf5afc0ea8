"""Settings: what a file says is what a stage gets; what it cannot mean is refused in one line."""

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from flashbench.settings import load_settings, save_settings
from flashbench.values import native_precision
from specflash.errors import UserError

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "jobs/configs").glob("*.yaml"))
SMALLEST = {"name": "x", "run": "runs/x", "dump": {"source": {"dataset": "llava-instruct"}},
            "bench": {"tasks": {"instruct": {"source": {"dataset": "llava-instruct"}}}}}


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
    ("bench.tasks.instruct.source.splitt=a", "bench.tasks.instruct.source.splitt", "split"),
    ("bench.tasks.instruct.max_new_token=3", "bench.tasks.instruct.max_new_token", "max_new_tokens"),
    ("drafts.specflash.lattents=3", "drafts.specflash.lattents", "latents"),
])
def test_an_unknown_key_is_refused_with_the_nearest(file, override, wrong, near):
    message = refusal(file, override)
    assert f"unknown key `{wrong}`" in message
    assert f"did you mean `{near}`" in message


def test_every_wrong_key_is_named_at_once(file):
    message = refusal(file, "train.epoch=3", "serve.prot=1")
    assert "`train.epoch`" in message
    assert "`serve.prot`" in message


@pytest.mark.parametrize("override", [
    "train.epochs=0", "train.lr=.inf", "train.weight_decay=.nan", "train.weight_decay=-1", "train.noise=.inf",
    "train.max_failures=-7", "train.cpus_per_worker=0", "train.seed=-1", "train.seed=9223372036854775808",
    "dump.cpus_per_actor=-1", "dump.cpus_per_actor=0", "dump.cpus_per_actor=.nan", "dump.gpus_per_actor=.inf",
    "dump.gpus_per_actor=-1", "dump.gpus_per_actor=1.5", "dump.max_length=-5", "serve.cpus_per_replica=0",
    "serve.gpus_per_replica=-1", "serve.threads=1000000", "threads=1000000", "scenes.seed=-1",
    "bench.seed=1180591620717411303424", "bench.seed=-1", "bench.temperature=-1", "bench.temperature=.nan",
    "bench.tasks={}", "bench.methods=[]",
    "drafts.eagle.k=0", "drafts.eagle.k=32", "drafts.eagle.head_dim=15", "drafts.eagle.vocabulary=-1",
    "drafts.specflash.latents=-1", "drafts.specflash.dropout=2", "drafts.specflash.layers=0", "drafts.eagle.width=8"])
def test_a_value_out_of_range_is_refused_with_its_key(file, override):
    assert f"`{override.partition('=')[0]}" in refusal(file, override)


@pytest.mark.parametrize("override", ["train.lr=[1", "train.lr=@x", "name=2024-13-45", "name=0x_", "name='a"])
def test_an_override_that_is_no_yaml_is_refused_with_its_key(file, override):
    key, _, value = override.partition("=")
    assert f"`{key}`: `{value}` is not valid YAML" in refusal(file, override)


@pytest.mark.parametrize(("override", "told"), [
    ("drafts.specflsh={}", r"unknown draft `specflsh` (did you mean `specflash`?)"),
    ("bench.methods=[vanilla, specflsh]", r"unknown method `specflsh` (did you mean `specflash`?)"),
    ("serve.methods=[eagel]", r"`serve.methods`: unknown method `eagel` (did you mean `eagle`?)"),
    ("bench.methods=[specflash]", "`bench.methods` names `specflash`, which has no section: add drafts.specflash"),
])
def test_drafts_and_methods_are_names_of_the_catalogue(file, override, told):
    assert told in refusal(file, override, *(["drafts={eagle: {}}"] if "section" in told else []))


def test_one_temperature_or_several(file):
    assert load_settings(file).bench.temperatures == (0.0,)
    assert load_settings(file, ["bench.temperature=0.7"]).bench.temperatures == (0.7,)
    assert load_settings(file, ["bench.temperatures=[0, 1]"]).bench.temperatures == (0.0, 1.0)
    assert "not both" in refusal(file, "bench.temperature=0", "bench.temperatures=[1]")
    assert "named twice" in refusal(file, "bench.temperatures=[1, 1]")
    assert "`bench.controls" in refusal(file, "bench.controls=[hf-genrate]")


def test_methods_that_are_not_named_are_vanilla_and_every_draft(file):
    assert load_settings(file).bench.methods == load_settings(file).serve.methods == ("vanilla", "eagle", "specflash")
    settings = load_settings(file, ["drafts.specflash.k=7", "serve.port=1"])
    assert settings.bench.methods == settings.serve.methods == ("vanilla", "specflash")
    assert load_settings(file, ["drafts.specflash.k=7", "bench.methods=[vanilla]"]).bench.methods == ("vanilla",)
    assert "`bench`" in refusal(file, "drafts.specflash.k=7", "bench=")


def test_a_method_that_needs_no_training_needs_no_section(file):
    settings = load_settings(file, ["drafts={}", "bench.methods=[vanilla, ngram]", "serve.methods=[ngram]"])
    assert (settings.bench.methods, settings.serve.methods) == (("vanilla", "ngram"), ("ngram",))


def test_a_missing_section_is_refused_with_its_key(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in SMALLEST.items() if key != "dump"}))
    assert "`dump`" in refusal(path)


@pytest.mark.parametrize(("text", "reason"), [
    ("name: [1", "not valid YAML"),
    ("- a\n- b", "must hold a mapping"),
    ("", "must hold a mapping"),
    ("name: 2024-13-45", "not valid YAML"),
    (b"name: \xe9t\xe9\n", "not valid YAML"),
    (b"name: \x00\n", "not valid YAML"),
])
def test_what_is_no_settings_file_is_refused(tmp_path, text, reason):
    path = tmp_path / "x.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
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


@pytest.mark.parametrize(("written", "asked"), [
    ("runs/demo/", "/tmp/new"), ("./runs/demo", "/tmp/new/"), ("runs//demo", "/tmp/new")])
def test_a_run_folder_is_the_same_however_it_is_written(tmp_path, written, asked):
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump({**SMALLEST, "name": "runs/demo", "run": written, "dump": {
        "source": {"dataset": "llava-instruct", "path": "runs/demo/data"}}}))
    settings = load_settings(path, [f"run={asked}"])
    assert settings.dump.source.path == settings.data_folder == Path("/tmp/new/data")
    assert settings.name == "runs/demo"


def test_a_path_that_was_asked_for_stays_what_it_is():
    settings = load_settings("jobs/configs/demo.yaml", ["run=/elsewhere/demo", "dump.source.path=runs/demo/data"])
    assert settings.dump.source.path == Path("runs/demo/data")
    assert settings.bench.tasks["instruct"].source.path == Path("/elsewhere/demo/data")


def test_a_neighbour_of_the_run_folder_stays_where_it_is(file):
    settings = load_settings(file, ["run=/tmp/new", "dump.source.path=runs/xy/data"])
    assert settings.dump.source.path == Path("runs/xy/data")


def test_the_home_folder_is_that_of_the_user(file, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    settings = load_settings(file, ["run=~/x", "dump.source.path=~/data", "target.weights=~/w"])
    assert settings.run == Path("/home/me/x")
    assert settings.dump.source.path == Path("/home/me/data")
    assert settings.target.weights == "/home/me/w"
    assert "`run`" in refusal(file, "run=~nobody-of-this-name/x")


@pytest.mark.parametrize(("weights", "placed"), [
    ("here/is/a/folder", "{cwd}/here/is/a/folder"), ("specflash/weights", "{cwd}/specflash/weights"),
    ("owner/name@v1", "owner/name@v1")])
def test_workers_get_absolute_paths_and_names_of_the_hub_as_they_are(file, weights, placed):
    settings = load_settings(file, ["run=run", "dump.source.path=data", f"target.weights={weights}",
                                    "train.start=drafts"]).placed()
    assert settings.run == Path.cwd() / "run"
    assert settings.dump.source.path == Path.cwd() / "data"
    assert settings.train.start == Path.cwd() / "drafts"
    assert settings.target.weights == placed.format(cwd=Path.cwd())


@pytest.mark.parametrize("key", ["run", "dump.source.path", "target.weights"])
def test_an_empty_path_is_not_the_current_folder(file, key):
    assert f"`{key}`" in refusal(file, f"{key}=''")


def test_auto_precision_is_named_on_loading(file):
    settings = load_settings(file, ["target.dtype=auto", "train.precision=auto"])
    assert settings.target.dtype == settings.train.precision == native_precision() != "auto"
