"""The MLflow UI as a person meets it, in a real browser over a real server: the runs, their comparison, the note."""

import json
from urllib.parse import quote

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
    """The server's address, the experiment's id, and name -> run id of the comparison and its children."""
    uri = tracking_uri(tracked[0])
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("specflash").experiment_id
    runs = client.search_runs([experiment], "tags.kind != 'training'")
    with serving(uri, tmp_path_factory.mktemp("server")) as address:
        yield address, experiment, {run.info.run_name: run.info.run_id for run in runs}


def test_the_runs_are_grouped_under_their_comparison(browser, site):
    address, experiment, _ = site
    with opened(browser, f"{address}/#/experiments/{experiment}/runs", WIDE) as seen:
        page = seen.page
        parent = page.get_by_role("row").filter(has=page.get_by_text("compare · scripted", exact=True))
        parent.first.wait_for(timeout=PATIENCE_MS)
        assert page.get_by_text("train · drafty", exact=True).count() == 3
        assert page.get_by_text("instruct · drafty", exact=True).count() == 0
        parent.locator(f"button:near(:text('compare · scripted'), {CLOSE_PX})").first.click()
        for child in ("instruct · vanilla", "instruct · drafty"):
            page.get_by_text(child, exact=True).wait_for(timeout=PATIENCE_MS)


def test_the_note_says_what_the_numbers_mean_and_leads_to_all_methods_with_their_headlines(browser, site):
    address, experiment, ids = site
    with opened(browser, f"{address}/#/experiments/{experiment}/runs/{ids['compare · scripted']}", WIDE) as seen:
        page = seen.page
        page.get_by_text("2.40 [2.00, 3.00]").first.wait_for(timeout=PATIENCE_MS)
        assert "tokens per verification pass" in page.inner_text("body")
        page.get_by_text("All methods side by side").click()
        for name in ("instruct · vanilla", "instruct · drafty"):
            page.get_by_text(name, exact=True).first.wait_for(timeout=PATIENCE_MS)
        headers = page.get_by_role("columnheader").all_inner_texts()
        assert [name for name in headers if name in HEADLINES] == sorted(HEADLINES)
        assert page.get_by_text("train · drafty", exact=True).count() == 0
        assert page.get_by_text("2.4", exact=True).count() == 2  # A and R decode of `drafty`


def test_compared_runs_show_their_names_and_the_headlines_before_the_details(browser, site):
    address, experiment, ids = site
    chosen = [ids["instruct · vanilla"], ids["instruct · drafty"]]
    with opened(browser, f"{address}/#/compare-runs?runs={quote(json.dumps(chosen))}"
                         f"&experiments={quote(json.dumps([experiment]))}", WIDE) as seen:
        page = seen.page
        page.get_by_text("verification/acceptance_rate_pos0", exact=True).first.wait_for(timeout=PATIENCE_MS)
        text = page.inner_text("body")
        assert "instruct · vanilla" in text
        assert "instruct · drafty" in text
        metrics = text[text.index("Metrics\nShow diff only"):]
        places = [metrics.index(f"\n{name}\n") for name in HEADLINES]
        assert max(places) < metrics.index("uncertainty/") < metrics.index("verification/")
