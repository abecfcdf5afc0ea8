"""Where the drafts of an experiment come from, with and without weights."""

import pytest

from flashbench.bench.methods import draft_fingerprints
from flashbench.draft_settings import check_drafts
from flashbench.drafts import ready_draft, weights_of
from flashbench.serve.preflight import check_methods
from flashbench.settings import Settings
from specflash.drafts.store import save_draft
from specflash.errors import UserError
from tests.drafts.test_store import target
from tests.drafts.toy import SETTINGS, draft


def settings_for(run, methods=("vanilla", "ngram"), **drafts) -> Settings:
    return Settings.model_validate({
        "name": "t", "run": run, "drafts": drafts, "dump": {"source": {"dataset": "llava-instruct"}},
        "bench": {"tasks": {"any": {"source": {"dataset": "photographs"}}}, "methods": methods},
        "serve": {"methods": methods}})


@pytest.mark.parametrize("name", ["vanilla", "ngram"])
def test_a_draft_without_weights_needs_no_folder(tmp_path, name):
    made = ready_draft(settings_for(tmp_path), name, target())
    assert made.name == name and not made.training and weights_of(name) is None
    check_methods(settings_for(tmp_path))


def test_its_settings_are_the_experiment_s_and_count_as_what_it_is(tmp_path):
    plain, other = settings_for(tmp_path), settings_for(tmp_path, ngram={"k": 7})
    assert ready_draft(other, "ngram", target()).config.k == 7
    assert list(draft_fingerprints(plain)) == ["ngram"]
    assert draft_fingerprints(plain) != draft_fingerprints(other) == draft_fingerprints(other)


def test_a_draft_with_weights_is_missed_where_it_is_not_trained(tmp_path):
    with pytest.raises(UserError, match="specflash train --draft medusa"):
        draft_fingerprints(settings_for(tmp_path, ["vanilla", "medusa"]))
    with pytest.raises(UserError, match=r"no draft in .*medusa: config\.json is missing"):
        ready_draft(settings_for(tmp_path), "medusa", target())


def test_an_unknown_method_is_told_with_the_nearest(tmp_path):
    with pytest.raises(UserError, match=r"unknown method `ngrams` \(did you mean `ngram`\?\)"):
        draft_fingerprints(settings_for(tmp_path, ["ngrams"]))
    with pytest.raises(UserError, match="draft `ngram`: `max_gram`"):
        draft_fingerprints(settings_for(tmp_path, ngram={"max_gram": 2}))


def test_what_drafts_with_another_s_weights_follows_from_them_and_from_how_it_drafts(tmp_path):
    settings = settings_for(tmp_path, ["vanilla", "eagle", "eagle2"], eagle=SETTINGS["eagle"], eagle2={"nodes": 9})
    ours = target()
    save_draft(draft("eagle"), settings.draft_folder("eagle"), ours.name, ours.fingerprint)
    prints = draft_fingerprints(settings)
    assert prints["eagle2"].partition(".")[0] == prints["eagle"]
    made = ready_draft(settings, "eagle2", ours)
    assert (made.name, made.config.nodes, made.config.k, made.config.inner) == ("eagle2", 9, 5, 24)

    other = settings.model_copy(update={"drafts": {**settings.drafts, "eagle2": {"nodes": 8}}})
    assert draft_fingerprints(other)["eagle2"] != prints["eagle2"]
    wrong = settings.model_copy(update={"drafts": {**settings.drafts, "eagle2": {"inner": 7}}})
    with pytest.raises(UserError, match=r"other settings than drafts.eagle2 \(inner 24 → 7\)"):
        draft_fingerprints(wrong)


def test_how_a_draft_drafts_may_change_without_another_training(tmp_path):
    settings = settings_for(tmp_path, ["vanilla", "eagle"], eagle={**SETTINGS["eagle"], "nodes": 6, "sampled": False})
    ours = target()
    save_draft(draft("eagle"), settings.draft_folder("eagle"), ours.name, ours.fingerprint)
    assert ready_draft(settings, "eagle", ours).config.nodes == 6
    plain = settings.model_copy(update={"drafts": {"eagle": SETTINGS["eagle"]}})
    assert draft_fingerprints(settings) != draft_fingerprints(plain)


def test_a_lender_that_is_missing_is_told(tmp_path):
    with pytest.raises(UserError, match=r"no trained draft `eagle`.*specflash train --draft eagle"):
        draft_fingerprints(settings_for(tmp_path, ["vanilla", "eagle2"], eagle2={}))
    with pytest.raises(UserError, match=r"`eagle2`, which drafts with the weights of `eagle`: add drafts.eagle"):
        check_drafts(settings_for(tmp_path, ["vanilla", "eagle2"], eagle2={}), "x.yaml")
