"""MLflow holds the record's own digits, holds them once, and never stops the work."""

from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from flashbench import track
from flashbench.settings import Settings
from flashbench.track import HEADLINES, log_comparison, log_training, tracking_uri
from tests.flashbench.scripted import scripted_run

SOURCE = {"dataset": "coco-captions"}
CURVES = [{"epoch": 1, "loss": 2.0, "slot_accuracy": [0.5, 0.25]},
          {"epoch": 2, "loss": 1.0, "slot_accuracy": [0.6, 0.3]}]


def settings_for(run: Path, uri: str | None = None) -> Settings:
    return Settings.model_validate({"name": "scripted", "run": run, "dump": {"source": SOURCE},
                                    "bench": {"tasks": {"instruct": {"source": SOURCE}}}, "track": {"uri": uri}})


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    run = tmp_path_factory.mktemp("run")
    settings, summary = settings_for(run), scripted_run(run)
    (run / "report.html").write_text("<p>report</p>")
    (run / "figures").mkdir()
    (run / "figures" / "speedup.png").write_bytes(b"png")
    assert log_comparison(settings, summary, run / "report.html", run / "figures") == []
    assert log_training(settings, "specflash", CURVES) == []
    return settings, summary


@pytest.fixture
def runs(logged):
    client = MlflowClient(tracking_uri(logged[0]))
    experiment = client.get_experiment_by_name("specflash")
    return client, client.search_runs([experiment.experiment_id])


def of_kind(runs, kind):
    return [run for run in runs[1] if run.data.tags["kind"] == kind]


def test_metrics_are_the_summarys_to_the_last_digit(logged, runs):
    children = {(run.data.tags["task"], run.data.tags["method"]): run for run in of_kind(runs, "method")}
    assert set(children) == {(line["task"], line["method"]) for line in logged[1]["rows"]}
    for line in logged[1]["rows"]:
        metrics = children[line["task"], line["method"]].data.metrics
        positions = {f"acceptance_rate_pos{i}": share for i, share in enumerate(line["acceptance_by_position"])}
        assert metrics == {key: line[key] for key in HEADLINES} | positions


def test_children_belong_to_the_comparison_and_say_what_they_claim(logged, runs):
    (parent,) = of_kind(runs, "comparison")
    for child in of_kind(runs, "method"):
        assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert child.data.tags["claim_level"] == "measured on CPU"
        assert child.data.tags["hardware"] == "abacus"
        assert child.info.status == "FINISHED"


def test_the_report_the_figures_and_the_table_lie_inside_the_run_folder(logged, runs):
    client, _ = runs
    (parent,) = of_kind(runs, "comparison")
    assert {item.path for item in client.list_artifacts(parent.info.run_id)} == {
        "report.html", "summary.json", "summary_table.json", "figures"}
    kept = logged[0].run / "mlartifacts" / parent.info.run_id / "artifacts" / "report.html"
    assert kept.read_text() == "<p>report</p>"


def test_training_is_logged_epoch_by_epoch(runs):
    client, _ = runs
    (run,) = of_kind(runs, "training")
    history = {key: [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, key)]
               for key in run.data.metrics}
    assert history == {"loss": [(1, 2.0), (2, 1.0)], "slot_accuracy_0": [(1, 0.5), (2, 0.6)],
                       "slot_accuracy_1": [(1, 0.25), (2, 0.3)]}


def test_a_result_is_never_logged_twice(logged, runs):
    settings, summary = logged
    before = {run.info.run_id for run in runs[1]}
    assert log_comparison(settings, summary, None, None) == []
    assert log_training(settings, "specflash", CURVES) == []
    client = runs[0]
    experiment = client.get_experiment_by_name("specflash")
    assert {run.info.run_id for run in client.search_runs([experiment.experiment_id])} == before


def test_a_write_that_fails_once_is_tried_again(logged, monkeypatch):
    settings, _ = logged
    failures = iter([MlflowException("database is locked")])
    real = MlflowClient.log_batch

    def flaky(client, *given, **named):
        for failure in failures:
            raise failure
        return real(client, *given, **named)

    monkeypatch.setattr(MlflowClient, "log_batch", flaky)
    monkeypatch.setattr(track, "SECONDS_BEFORE_RETRY", 0)
    assert log_training(settings, "eagle", CURVES) == []


def test_a_write_that_keeps_failing_is_reported_and_the_rest_is_written(logged, runs, monkeypatch):
    settings, summary = logged
    monkeypatch.setattr(track, "SECONDS_BEFORE_RETRY", 0)

    def broken(*_, **__):
        raise MlflowException("no space left\nand more")

    monkeypatch.setattr(MlflowClient, "log_table", broken)
    lost = log_comparison(settings, summary | {"result": "another"}, None, None)
    assert lost == ["compare scripted: summary_table.json: no space left"]
    client = runs[0]
    experiment = client.get_experiment_by_name("specflash").experiment_id
    children = client.search_runs([experiment], "tags.comparison = 'another'")
    assert len(children) == len(summary["rows"])


def test_a_server_that_cannot_be_reached_costs_one_line_and_no_exception(tmp_path, monkeypatch):
    monkeypatch.setattr(track, "SECONDS_BEFORE_RETRY", 0)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    lost = log_training(settings_for(tmp_path, "http://127.0.0.1:9"), "eagle", CURVES)
    assert len(lost) == 1
    assert lost[0].startswith("create train eagle: ")


def test_the_settings_come_before_the_environment_and_it_before_the_run_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking_uri(settings_for(tmp_path)) == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///elsewhere.db")
    assert tracking_uri(settings_for(tmp_path)) == "sqlite:///elsewhere.db"
    assert tracking_uri(settings_for(tmp_path, "sqlite:///mine.db")) == "sqlite:///mine.db"


def test_a_damaged_database_is_reported_and_stops_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(track, "SECONDS_BEFORE_RETRY", 0)
    (tmp_path / "mlflow.db").write_bytes(b"this is no database" * 500)
    assert log_training(settings_for(tmp_path), "specflash", CURVES)
    assert (tmp_path / "mlflow.db").read_bytes() == b"this is no database" * 500
