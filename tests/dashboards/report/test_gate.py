"""The gate's verdict beside the speed-ups: what it found, of which weights, and no more than that."""

import json

from tests.dashboards.report.reading import Page, text_of
from tests.dashboards.report.runs import FAILURE, change_summary, run_folder, summary_of, verdict


def test_without_a_verdict_the_page_says_so(tmp_path):
    text = text_of(run_folder(tmp_path))
    assert "Not verified" in text
    assert "every token is the target" not in text


def test_a_verdict_stands_beside_the_speed_ups(tmp_path):
    run_folder(tmp_path)
    (tmp_path / "verify.json").write_text(json.dumps(verdict(summary_of(tmp_path))))
    text = text_of(tmp_path)
    assert "every token is the target’s own" in text
    assert "✓ holds, 2 of 2" in text.partition('class="cards"')[2].partition("</section>")[0]


def test_ties_are_told_and_no_token_is_claimed_that_is_not_the_targets(tmp_path):
    run_folder(tmp_path)
    whole = verdict(summary_of(tmp_path), laws=[{"exact": True}], draws=[{"same": True}, {"same": True}])
    whole["lines"][0] |= {"equal": 1, "ties": 1}
    (tmp_path / "verify.json").write_text(json.dumps(whole))
    text = text_of(tmp_path)
    Page(text)
    assert "✓ holds, 1 of 2 + 1 tie" in text
    assert "but for ties that rounding explains" in text
    assert "every token is the target" not in text
    assert "1 of 1 laws" in text and "2 of 2 tests of drawn answers" in text


def test_a_law_that_is_not_the_targets_breaks_the_gate(tmp_path):
    run_folder(tmp_path)
    (tmp_path / "verify.json").write_text(json.dumps(
        verdict(summary_of(tmp_path), lossless=False, laws=[{"exact": False}], failures=[FAILURE | {"gap": None}])))
    text = text_of(tmp_path)
    assert '<p class="bad">0 of 1 laws' in text
    assert "differs at token 3." in text


def test_a_verdict_about_other_weights_is_no_verdict(tmp_path):
    run_folder(tmp_path)
    (tmp_path / "verify.json").write_text(json.dumps(
        verdict(summary_of(tmp_path), fingerprint={"drafts": {"drafty": "other"}})))
    text = text_of(tmp_path)
    assert "about other weights" in text
    assert "every token is the target" not in text
    assert "✓ holds" not in text


def test_a_broken_draft_is_named_and_a_short_run_is_not_for_quoting(tmp_path):
    run_folder(tmp_path)
    change_summary(tmp_path, lambda summary: summary | {"quotable": False})
    line = verdict(summary_of(tmp_path))["lines"][0]
    (tmp_path / "verify.json").write_text(json.dumps(
        verdict(summary_of(tmp_path), lossless=False, failures=[FAILURE], lines=[line | {"equal": 1}])))
    text = text_of(tmp_path)
    assert "Not for quoting" in text
    assert text.count(">not for quoting<") >= 3, "headline, every card, leaderboard"
    assert "differs at token 3" in text
    assert "✗ broken, 1 of 2" in text
    assert "every token is the target" not in text


def test_the_verdicts_of_several_targets_are_one(tmp_path):
    """Each target was verified in its own run folder; a further one's drafts stand in the summary under its name."""
    other = tmp_path / "other"
    other.mkdir()
    run_folder(tmp_path)
    own = verdict(summary_of(tmp_path))
    further = verdict(summary_of(tmp_path), fingerprint={"drafts": {"drafty": "d2"}})
    change_summary(tmp_path, lambda summary: summary | {
        "runs": {"small": "other"},
        "fingerprint": {**summary["fingerprint"], "drafts": {**own["fingerprint"]["drafts"], "small/drafty": "d2"}}})
    (tmp_path / "verify.json").write_text(json.dumps(own))
    assert "Not verified" in text_of(tmp_path)
    (other / "verify.json").write_text(json.dumps(further))
    assert "✓ holds, 4 of 4" in text_of(tmp_path)
    broken = [line | {"equal": line["equal"] - 1} for line in further["lines"]]
    (other / "verify.json").write_text(json.dumps(
        further | {"lossless": False, "failures": [FAILURE], "lines": broken}))
    assert "✓ holds" not in text_of(tmp_path)
    (other / "verify.json").write_text(json.dumps(further | {"fingerprint": {"drafts": {"drafty": "d3"}}}))
    assert "about other weights" in text_of(tmp_path)
