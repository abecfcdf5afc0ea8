"""A result in MLflow is the result of the run folder it came from."""

from pathlib import Path

import pytest
from mlflow import MlflowClient

from flashbench.compare import run_compare
from flashbench.compare.places import read_result
from flashbench.compare.tracked import is_tracked
from flashbench.track import tracking_uri
from specflash.errors import UserError


@pytest.fixture
def run_ids(tracked, monkeypatch):
    """name -> id"""
    uri = tracking_uri(tracked[0])
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("specflash").experiment_id
    return {run.info.run_name: run.info.run_id for run in client.search_runs([experiment], "tags.kind != 'training'")}


@pytest.mark.parametrize("form", ["mlflow:{}", "runs:/{}"])
def test_a_comparison_in_mlflow_is_that_of_its_run_folder(tracked, run_ids, form):
    name = form.format(run_ids["compare · scripted"])
    assert is_tracked(name)
    from_mlflow, from_folder = read_result(Path(name)), read_result(tracked[0].run)
    assert from_mlflow.series == from_folder.series
    assert from_mlflow.conditions == from_folder.conditions


def test_a_methods_run_is_that_method_alone(tracked, run_ids, capsys):
    place = Path(f"mlflow:{run_ids['instruct · drafty']}")
    assert read_result(place).methods == ["drafty"]
    assert run_compare([tracked[0].run, place], 0.03)
    assert "no regression" not in capsys.readouterr().out  # two prompts never judge


def test_what_is_not_there_is_one_line(run_ids, monkeypatch):
    with pytest.raises(UserError, match=r"mlflow:nothing: no rows\.parquet and summary\.json of such a comparison"):
        read_result(Path("mlflow:nothing"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with pytest.raises(UserError, match="export MLFLOW_TRACKING_URI first"):
        read_result(Path(f"mlflow:{run_ids['compare · scripted']}"))
