"""The Parquet rows, summary.json, the page and MLflow's runs hold the same digits, at every temperature."""

import json

import pytest
from mlflow import MlflowClient

from flashbench.bench import measure, publish
from flashbench.bench.plan import make_plan
from flashbench.bench.results import Results
from flashbench.bench.rows import read_rows
from flashbench.bench.summary import summarise
from flashbench.track import HEADLINES, tracking_uri
from tests.dashboards.report.reading import Page
from tests.flashbench.experiment import make_experiment

SHOWN = ("speedup_decode", "speedup_e2e", "accept_length", "identical_share", "ttft_ms", "tpot_ms", "output_tps")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """(settings, lines of the summary as the Parquet file gives them)"""
    settings = make_experiment(tmp_path_factory.mktemp("experiment"))
    settings = settings.model_copy(update={"bench": settings.bench.model_copy(update={"temperatures": (0.0, 1.0)})})
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        assert publish(settings, measure(settings)) == []
    (experiment,) = make_plan(settings)
    rows = read_rows(settings.run / "bench" / "rows.parquet")
    lines = summarise(Results(experiment.pieces, rows), settings.bench.noise_band)["rows"]
    assert len(lines) == 2 * 3
    return settings, lines


def test_the_summary_has_the_digits_of_the_rows(published):
    settings, lines = published
    assert json.loads((settings.run / "summary.json").read_text())["rows"] == lines


def test_the_page_has_them(published):
    settings, lines = published
    numbers = Page((settings.run / "report.html").read_text()).numbers
    shown = {path: exact for path, exact, _ in numbers}
    for number, line in enumerate(lines):
        expected = {key: "" if line[key] is None else repr(line[key]) for key in SHOWN}
        assert {key: shown[f"rows.{number}.{key}"] for key in SHOWN} == expected


def test_mlflow_has_them(published, monkeypatch):
    settings, lines = published
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = MlflowClient(tracking_uri(settings))
    experiment = client.get_experiment_by_name(settings.track.experiment)
    runs = [run for run in client.search_runs([experiment.experiment_id]) if run.data.tags["kind"] == "method"]
    found = {(run.data.params["temperature"], run.data.tags["method"]): run.data.metrics for run in runs}
    assert len(found) == len(runs) == len(lines)
    for line in lines:
        metrics = found[str(line["temperature"]), line["method"]]
        expected = {key: line[key] for key in HEADLINES if line[key] is not None}
        assert {key: metrics.get(key) for key in expected} == expected
