"""A live campaign is one run that grows, ends when it ends, and loses nothing while the store is away."""

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from flashbench.serve.ab.campaign import Campaign
from flashbench.serve.ab.rule import Rule
from flashbench.track import log_campaign, outbox, tracking_uri, writer
from flashbench.track.campaign import campaign_entry
from tests.flashbench.conftest import settings_for
from tests.flashbench.serve.ab.decoders import pair


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(writer, "SECONDS_BEFORE_RETRY", 0)


@pytest.fixture
def settings(tracked, tmp_path):
    """Another run folder and experiment in the session's store."""
    return settings_for(tmp_path, tracking_uri(tracked[0]), tmp_path.name)


def campaign(pairs: int, ended: bool = False) -> Campaign:
    some = Campaign("first", ("vanilla", "specflash"), Rule(width=1e-3), started_at=1000.0)
    for number in range(pairs):
        some.add(pair(number, seconds=0.5 + 0.01 * (number % 5)), now=1010.0)
    if ended:
        some.stop(1060.0)
    return some


def the_run(settings):
    client = MlflowClient(tracking_uri(settings))
    experiment = client.get_experiment_by_name(settings.track.experiment)
    (run,) = client.search_runs([experiment.experiment_id])
    steps = [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, "speedup_decode")]
    return run, steps


def broken(*_, **__):
    raise MlflowException("away")


def curve(some: Campaign) -> list:
    return [(look["pairs"], look["speedup_decode"]["value"]) for look in some.looks]


def test_one_run_grows_by_a_point_per_look_loses_none_and_ends(settings, monkeypatch):
    assert log_campaign(settings, campaign(6).told()) == []
    run, steps = the_run(settings)
    assert (run.info.status, steps) == ("RUNNING", curve(campaign(6)))
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "search_runs", broken)
        (line,) = log_campaign(settings, campaign(8).told())
    assert line.startswith("1 run (live · first: the run: away)")
    over = campaign(11, ended=True)
    assert log_campaign(settings, over.told()) == []
    run, steps = the_run(settings)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "live · first")
    assert (run.info.start_time, run.info.end_time) == (1_000_000, 1_060_000)
    assert steps == [*curve(over), (11, over.told()["result"]["speedup_decode"]["value"])]
    assert (run.data.tags["kind"], run.data.tags["ended"]) == ("campaign", "stopped by hand")
    assert (run.data.params["method"], run.data.params["wanted.width"]) == ("specflash", "0.001")
    low, high = over.told()["result"]["speedup_decode"]["interval"]
    assert run.data.metrics["uncertainty/speedup_decode_low"] == low
    assert run.data.metrics["uncertainty/speedup_decode_high"] == high
    assert not (settings.run / outbox.FOLDER).exists()


def test_every_entry_has_all_points_and_the_key_of_its_campaign(tmp_path):
    settings = settings_for(tmp_path)
    one, later = (campaign_entry(settings, campaign(pairs).told()) for pairs in (6, 12))
    assert one.key == later.key
    assert set(one.points) < set(later.points)


def test_a_figure_that_is_not_known_yet_is_no_point(tmp_path):
    entry = campaign_entry(settings_for(tmp_path), campaign(2, ended=True).told())
    assert {name for name, *_ in entry.points} == {"differences/real", "differences/tie"}
