"""The order of the demo's stages, and what its short form changes."""

import pytest

from flashbench import demo
from flashbench.demo import FAST_TASK_LIMIT, FAST_TASK_TOKENS, run_demo, shortened
from flashbench.settings import load_settings, save_settings
from tests.flashbench.scripted import scripted_rows, scripted_summary

CONFIG = "jobs/configs/demo.yaml"
STAGES = ("run_prepare", "run_dump", "run_train", "run_verify", "measure", "publish")


@pytest.fixture
def staged(tmp_path, monkeypatch):
    """Settings in a temporary run folder, and the stages replaced by notes of who was called with what."""
    called = []
    results = dict.fromkeys(STAGES) | {
        "run_verify": True, "measure": scripted_summary(scripted_rows()), "publish": ["compare: no space left"]}
    for stage in STAGES:
        def note(settings, *_, stage=stage):
            called.append((stage, settings))
            return results[stage]
        monkeypatch.setattr(demo, stage, note)
    settings = load_settings(CONFIG, [f"run={tmp_path}/demo", f"dump.source.path={tmp_path}/demo/data"])
    return settings, called, results


def test_stages_run_in_order_with_the_same_settings(staged):
    settings, called, _ = staged
    run_demo(settings)
    assert called == [(stage, settings) for stage in STAGES]
    assert load_settings(settings.run / "settings.yaml") == settings


def test_a_draft_that_is_not_lossless_is_never_timed(staged, capsys):
    settings, called, results = staged
    results["run_verify"] = False
    assert run_demo(settings) is False
    assert "error: the drafts are not lossless" in capsys.readouterr().err
    assert [stage for stage, _ in called] == list(STAGES[:4])


def test_a_refused_speed_up_is_reported_and_fails_the_demo(staged, capsys):
    settings, called, results = staged
    assert run_demo(settings) is True
    rows = [{**one, "dtype": "float16"} if one["method"] == "drafty" else one for one in scripted_rows()]
    results["measure"] = scripted_summary(rows)
    assert run_demo(settings) is False
    said = capsys.readouterr()
    assert "No speed-up of drafty, instruct; drafty, all in domain: drafty used dtype float16" in said.out
    assert "error: some speed-ups are refused" in said.err
    assert [stage for stage, _ in called[len(STAGES):]] == list(STAGES)


def test_the_end_says_the_figures_and_how_to_look_at_them(staged, capsys):
    settings, _, _ = staged
    run_demo(settings)
    said = capsys.readouterr()
    for expected in ("drafty", "2.40 [0.18, 31.55]", "report.html", "mlflow ui --backend-store-uri sqlite:///",
                     f"specflash serve --config {settings.run}/settings.yaml"):
        assert expected in said.out
    assert "not recorded in MLflow: compare: no space left" in said.err


def test_commands_are_called_as_this_shell_can_call_them(tmp_path, monkeypatch):
    """By name in an activated environment, by path where another one or none is active."""
    bin, other = tmp_path / "here it is" / "bin", tmp_path / "other"
    for folder in (bin, other):
        folder.mkdir(parents=True)
        (folder / "mlflow").write_text("")
        (folder / "mlflow").chmod(0o755)
    monkeypatch.setattr(demo.sys, "executable", str(bin / "python"))
    monkeypatch.chdir(tmp_path)
    for path, called in ((bin, "mlflow"), (other, "'here it is/bin/mlflow'"), (tmp_path, "'here it is/bin/mlflow'")):
        monkeypatch.setenv("PATH", str(path))
        assert demo.command("mlflow") == called
    monkeypatch.chdir(other)
    assert demo.command("mlflow") == f"'{bin}/mlflow'"
    assert demo.command("specflash") == "specflash"


def test_the_short_form_has_less_of_everything_in_a_folder_of_its_own(staged, capsys):
    settings, called, _ = staged
    run_demo(settings, fast=True)
    short = called[0][1]
    assert short == shortened(settings)
    assert not short.quotable
    assert settings.quotable
    assert short.run == settings.run.with_name("demo-fast")
    assert short.dump.source.path == short.data_folder
    assert short.scenes.train < settings.scenes.train
    assert short.train.epochs < settings.train.epochs
    assert all(task.source.limit <= FAST_TASK_LIMIT for task in short.bench.tasks.values())
    assert all(task.max_new_tokens <= FAST_TASK_TOKENS for task in short.bench.tasks.values())
    assert "not for quoting" in capsys.readouterr().err


def test_the_short_form_moves_nothing_outside_the_run_folder():
    settings = load_settings(CONFIG, ["bench.tasks.captions.source.path=/data/coco", "run=runs/demo"])
    assert str(shortened(settings).bench.tasks["captions"].source.path) == "/data/coco"


@pytest.fixture
def two_targets(staged, tmp_path):
    """The same, with a second experiment that is measured along."""
    settings, called, results = staged
    other = settings.model_copy(update={
        "run": tmp_path / "other", "target": settings.target.model_copy(update={"name": "qwen2.5-vl-smol"})})
    save_settings(other, tmp_path / "other.yaml")
    bench = settings.bench.model_copy(update={"also": (tmp_path / "other.yaml",)})
    return settings.model_copy(update={"bench": bench}), other, called, results


def test_a_second_target_goes_through_the_same_stages_and_is_measured_along(two_targets, tmp_path):
    settings, _, called, _ = two_targets
    assert run_demo(settings) is True
    assert [(stage, one.run.name) for stage, one in called] == [
        *((stage, "demo") for stage in STAGES[:4]), *((stage, "other") for stage in STAGES[:4]),
        ("measure", "demo"), ("publish", "demo")]
    assert load_settings(tmp_path / "other" / "settings.yaml").target.name == "qwen2.5-vl-smol"


def test_a_second_target_is_shortened_along(two_targets):
    settings, other, called, _ = two_targets
    run_demo(settings, fast=True)
    measured = dict(called)["measure"]
    [file] = measured.bench.also
    assert file.parent == measured.run
    assert load_settings(file).train.epochs == shortened(other).train.epochs
    assert [one.run.name for stage, one in called if stage == "run_dump"] == ["demo-fast", "other-fast"]
