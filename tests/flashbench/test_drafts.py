"""Where the drafts of an experiment come from, with and without weights."""

import pytest

from flashbench.bench.methods import draft_fingerprints
from flashbench.drafts import ready_draft, weights_of
from flashbench.serve.preflight import check_methods
from flashbench.settings import Settings
from specflash.errors import UserError
from tests.drafts.test_store import target


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
