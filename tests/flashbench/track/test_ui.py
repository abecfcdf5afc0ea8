"""The MLflow UI as a person meets it, in a real browser over a real server: the runs, their comparison, the note."""

import json
from urllib.parse import quote, urljoin

import pytest
from mlflow import MlflowClient

from flashbench.track import HEADLINES, tracking_uri
from tests.browser import opened
from tests.flashbench.track.server import serving

PATIENCE_MS = 20_000
WIDE = (1900, 950)
CLOSE_PX = 40


@pytest.fixture(scope="module")
def site(browser, tracked, tmp_path_factory):
    """One window on the server, the experiment's address, and name -> run id of the comparison and its children."""
    uri = tracking_uri(tracked[0])
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("specflash").experiment_id
    runs = client.search_runs([experiment], "tags.kind != 'training'")
    with serving(uri, tmp_path_factory.mktemp("server")) as address, opened(browser, address, WIDE) as seen:
        seen.page.set_default_timeout(PATIENCE_MS)
        yield seen.page, f"{address}/#/experiments/{experiment}", {run.info.run_name: run.info.run_id for run in runs}


def test_the_runs_are_grouped_under_their_comparison(site):
    page, experiment, _ = site
    page.goto(f"{experiment}/runs")
    parent = page.get_by_text("compare · scripted", exact=True)
    parent.wait_for()
    assert page.get_by_text("train · drafty", exact=True).count() == 3
    assert page.get_by_text("instruct · drafty", exact=True).count() == 0
    page.locator(f"button:near(:text('compare · scripted'), {CLOSE_PX})").first.click()
    for child in ("instruct · vanilla", "instruct · drafty"):
        page.get_by_text(child, exact=True).wait_for()


def test_the_note_says_what_the_numbers_mean_and_leads_to_all_methods_with_their_headlines(site):
    page, experiment, ids = site
    page.goto(f"{experiment}/runs/{ids['compare · scripted']}")
    page.get_by_text("2.40 [0.18, 31.55]").first.wait_for()
    assert "tokens per verification pass" in page.inner_text("body")
    view = page.get_by_role("link", name="All methods side by side").get_attribute("href")
    page.goto(urljoin(page.url, view))
    for name in HEADLINES:
        page.get_by_role("columnheader", name=name).first.wait_for()
    for name in ("instruct · vanilla", "instruct · drafty"):
        page.get_by_text(name, exact=True).wait_for()
    assert page.get_by_text("train · drafty", exact=True).count() == 0
    assert page.get_by_text("2.4", exact=True).count() == 2  # A and R decode of `drafty`


def test_compared_runs_show_their_names_and_the_headlines_before_the_details(site):
    page, experiment, ids = site
    chosen = [ids["instruct · vanilla"], ids["instruct · drafty"]]
    address, _, number = experiment.partition("/#/experiments/")
    page.goto(f"{address}/#/compare-runs?runs={quote(json.dumps(chosen))}&experiments={quote(json.dumps([number]))}")
    page.get_by_text("verification/acceptance_rate_pos0", exact=True).first.wait_for()
    text = page.inner_text("body")
    assert "instruct · vanilla" in text
    assert "instruct · drafty" in text
    metrics = text[text.index("Metrics\nShow diff only"):]
    places = [metrics.index(f"\n{name}\n") for name in HEADLINES]
    assert max(places) < metrics.index("uncertainty/") < metrics.index("verification/")
