"""MLflow holds the record's own digits, holds them once, and never stops the work."""

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from flashbench.track import HEADLINES, log_comparison, log_training, outbox, store, tracking_uri, writer
from flashbench.track.store import only_writer
from specflash.files import DiskFull
from tests.flashbench.conftest import CURVES, settings_for, write_draft
from tests.flashbench.scripted import scripted_run


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(writer, "SECONDS_BEFORE_RETRY", 0)


@pytest.fixture
def runs(tracked):
    client = MlflowClient(tracking_uri(tracked[0]))
    experiment = client.get_experiment_by_name("specflash")
    return client, client.search_runs([experiment.experiment_id])


@pytest.fixture
def fresh(tracked, tmp_path):
    """Another run folder with another experiment in the same store, its summary, and what MLflow holds of it."""
    settings, summary = settings_for(tmp_path, tracking_uri(tracked[0]), tmp_path.name), scripted_run(tmp_path)
    client = MlflowClient(tracking_uri(settings))

    def found():
        experiment = client.get_experiment_by_name(tmp_path.name)
        return {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])} if experiment else {}

    return settings, summary, found


def of_kind(runs, kind):
    return [run for run in runs[1] if run.data.tags["kind"] == kind]


def broken(*_, **__):
    raise MlflowException("no space left\nand more")


# --- what is there -----------------------------------------------------------------------------

def test_metrics_are_the_summarys_to_the_last_digit(tracked, runs):
    children = {(run.data.tags["task"], run.data.tags["method"]): run for run in of_kind(runs, "method")}
    assert set(children) == {(line["task"], line["method"]) for line in tracked[1]["rows"]}
    for line in tracked[1]["rows"]:
        ends = {f"uncertainty/{key}_{end}": line[f"{key}_interval"][place]
                for key in ("accept_length", "speedup_decode", "speedup_e2e")
                for place, end in enumerate(("low", "high"))}
        positions = {f"verification/{name}{place}": share
                     for name, key in (("acceptance_rate_pos", "acceptance_by_position"),
                                       ("acceptance_rate_cond", "acceptance_given_previous"))
                     for place, share in enumerate(line[key])}
        assert children[line["task"], line["method"]].data.metrics == {
            key: line[key] for key in HEADLINES} | ends | positions


def test_children_belong_to_the_comparison_and_say_what_they_claim(runs):
    (parent,) = of_kind(runs, "comparison")
    for child in of_kind(runs, "method"):
        assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert child.data.tags["claim_level"] == "measured on CPU"
        assert child.data.tags["hardware"] == "abacus"
        assert child.info.status == "FINISHED"


def test_a_child_names_the_training_that_made_its_draft_and_no_other_of_that_name(tracked, runs):
    made = tracked[1]["fingerprint"]["drafts"]["drafty"]
    trainings = {run.data.tags["draft_fingerprint"]: run.info.run_id for run in of_kind(runs, "training")}
    assert len(trainings) == 3
    linked = {run.data.tags["method"]: run.data.tags.get("training_run") for run in of_kind(runs, "method")}
    assert linked == {"vanilla": None, "drafty": trainings[made]}


def test_the_report_the_figures_and_the_rows_lie_inside_the_run_folder(tracked, runs):
    client, _ = runs
    (parent,) = of_kind(runs, "comparison")
    assert {item.path for item in client.list_artifacts(parent.info.run_id)} == {
        "report.html", "summary.json", "rows.parquet", "leaderboard.json", "figures"}
    kept = tracked[0].run / "mlartifacts" / parent.info.run_id / "artifacts" / "report.html"
    assert kept.read_text() == "<p>report</p>"


def test_the_leaderboard_is_a_table_to_the_last_digit(tracked, runs):
    client, _ = runs
    (parent,) = of_kind(runs, "comparison")
    table = json.loads(Path(client.download_artifacts(parent.info.run_id, "leaderboard.json")).read_text())
    lines = [*tracked[1]["rows"], *tracked[1]["overall"]]
    for key in ("task", "method", *HEADLINES):
        assert [row[table["columns"].index(key)] for row in table["data"]] == [line[key] for line in lines]
    assert json.loads(parent.data.tags["mlflow.loggedArtifacts"]) == [{"path": "leaderboard.json", "type": "table"}]


def test_training_is_logged_epoch_by_epoch(runs):
    client, _ = runs
    for run in of_kind(runs, "training"):
        history = {key: [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, key)]
                   for key in run.data.metrics}
        assert history == {"loss": [(1, 2.0), (2, 1.0)], "slot_accuracy_0": [(1, 0.5), (2, 0.6)],
                           "slot_accuracy_1": [(1, 0.25), (2, 0.3)], "seconds": [(1, 3.0), (2, 4.0)]}


def test_a_result_is_never_logged_twice(tracked, runs):
    settings, summary = tracked
    assert log_comparison(settings, summary, None, None) == []
    assert log_training(settings, "drafty", CURVES) == []
    client = runs[0]
    experiment = client.get_experiment_by_name("specflash")
    assert {run.info.run_id for run in client.search_runs([experiment.experiment_id])} == {
        run.info.run_id for run in runs[1]}


# --- what goes wrong ---------------------------------------------------------------------------

def test_a_write_that_fails_once_is_tried_again(fresh, monkeypatch):
    settings, _, found = fresh
    failures = iter([MlflowException("database is locked")])
    real = MlflowClient.log_batch

    def flaky(client, *given, **named):
        for failure in failures:
            raise failure
        return real(client, *given, **named)

    monkeypatch.setattr(MlflowClient, "log_batch", flaky)
    assert log_training(settings, "eagle", CURVES) == []
    assert found()["train · eagle"].info.status == "FINISHED"


def test_what_is_not_taken_is_told_in_one_line_kept_and_sent_with_the_next_call(fresh, monkeypatch):
    settings, summary, found = fresh
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_text", broken)
        lost = log_comparison(settings, summary, None, None)
    waiting = settings.run / outbox.FOLDER
    assert lost == ["1 run (compare · scripted: leaderboard.json: no space left and more); "
                    f"kept in {waiting} and sent with the next call"]
    before = found()
    assert before["compare · scripted"].info.status == "FAILED"
    assert before["instruct · drafty"].info.status == "FINISHED"
    assert log_training(settings, "eagle", CURVES) == []
    after = found()
    assert not waiting.exists()
    assert after.keys() == before.keys() | {"train · eagle"}
    assert after["compare · scripted"].info.run_id == before["compare · scripted"].info.run_id
    assert after["compare · scripted"].info.status == "FINISHED"


def test_where_no_run_can_be_made_everything_waits_and_points_are_written_once(fresh, monkeypatch):
    settings, summary, found = fresh
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "create_run", broken)
        (lost,) = log_comparison(settings, summary, None, None)
        assert lost.startswith("3 runs (compare · scripted: the run: no space left")
        (lost,) = log_training(settings, "eagle", CURVES)
        assert lost.startswith("4 runs (")
    assert found() == {}
    assert log_training(settings, "eagle", CURVES) == []
    parent = found()["compare · scripted"].info.run_id
    assert found()["instruct · drafty"].data.tags["mlflow.parentRunId"] == parent
    assert found()["instruct · drafty"].data.metrics["accept_length"] == summary["rows"][1]["accept_length"]


def test_a_page_that_changed_while_it_waited_is_not_taken_for_the_old_one(fresh, monkeypatch):
    settings, summary, found = fresh
    report = settings.run / "report.html"
    report.write_text("of this result")
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_artifact", broken)
        assert log_comparison(settings, summary, report, None)
    report.write_text("of another")
    assert log_training(settings, "eagle", CURVES) == []
    run = found()["compare · scripted"]
    assert run.data.tags["artifacts_lost"] == "report.html"
    assert {item.path for item in MlflowClient(tracking_uri(settings)).list_artifacts(run.info.run_id)} == {
        "summary.json", "rows.parquet", "leaderboard.json"}


def test_a_busy_store_is_waited_for_and_then_told(fresh, monkeypatch):
    settings, *_ = fresh
    monkeypatch.setattr(store, "SECONDS_TO_WAIT", 0.2)
    with only_writer(settings):
        (lost,) = log_training(settings, "eagle", CURVES)
    assert "another process is writing to sqlite:///" in lost
    assert log_training(settings, "eagle", CURVES) == []


def test_a_full_disk_stops_nothing(fresh, monkeypatch):
    settings, *_ = fresh

    def full(*_):
        raise DiskFull("no space left in the run folder")

    monkeypatch.setattr(outbox, "write_whole", full)
    monkeypatch.setattr(MlflowClient, "create_run", broken)
    (lost,) = log_training(settings, "eagle", CURVES)
    assert lost.endswith("could not be kept for later either: no space left in the run folder")


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9", "postgresql://nobody@127.0.0.1:9/none", "nonsense://here"])
def test_a_store_that_is_not_there_costs_one_line_and_no_exception(tmp_path, monkeypatch, uri):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    (lost,) = log_training(settings_for(tmp_path, uri), "eagle", CURVES)
    assert lost.startswith("1 run (")
    assert "\n" not in lost


def test_a_damaged_database_is_reported_and_stops_nothing(tmp_path):
    (tmp_path / "mlflow.db").write_bytes(b"this is no database" * 500)
    assert log_training(settings_for(tmp_path, f"sqlite:///{tmp_path}/mlflow.db"), "specflash", CURVES)
    assert (tmp_path / "mlflow.db").read_bytes() == b"this is no database" * 500


def test_the_settings_come_before_the_environment_and_it_before_the_run_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking_uri(settings_for(tmp_path)) == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///elsewhere.db")
    assert tracking_uri(settings_for(tmp_path)) == "sqlite:///elsewhere.db"
    assert tracking_uri(settings_for(tmp_path, "sqlite:///mine.db")) == "sqlite:///mine.db"


def test_a_draft_made_anew_is_another_training(fresh):
    settings, _, found = fresh
    for weights in (b"one", b"two", b"one"):
        write_draft(settings, "eagle", weights)
        assert log_training(settings, "eagle", CURVES) == []
    assert len(MlflowClient(tracking_uri(settings)).search_runs(
        [next(iter(found().values())).info.experiment_id])) == 2
