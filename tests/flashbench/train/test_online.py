"""Training without stored features: the same samples, plans and losses, with the target inside the worker."""


from dataclasses import replace

import pytest
import torch

from flashbench.draft_settings import section_for
from flashbench.settings import Settings
from flashbench.train import online
from flashbench.train.data import Reader, Samples, answer_vocabulary
from flashbench.train.features import checked_features, open_features
from flashbench.train.online import Online
from flashbench.train.recipe import recipe_hash, recipe_of
from specflash.drafts.store import make_draft
from specflash.errors import UserError
from specflash.targets import load_ends
from tests.flashbench.dump.source import dump_here, exchange, settings_for, write_rows, write_source
from tests.flashbench.train.conftest import WIDTH

CPU = torch.device("cpu")
SAMPLES = 6
DRAFTS = {"specflash": {"k": 3, "latents": 2, "head_dim": 16}, "eagle": {"k": 3, "head_dim": 16},
          "dream": {"k": 3, "head_dim": 16, "pool": 2}}


def with_settings(settings: Settings, dump: dict | None = None, **train: object) -> Settings:
    return settings.model_copy(update={"train": settings.train.model_copy(update=train), "drafts": DRAFTS,
                                       "dump": settings.dump.model_copy(update=dump or {})})


@pytest.fixture(scope="module")
def stored(weights, tmp_path_factory) -> Settings:
    """A source whose features are stored; ids and answers differ in length."""
    folder = tmp_path_factory.mktemp("online")
    source = write_source(folder / "data", SAMPLES)
    write_rows(source, [exchange(number, "It is " + "very " * (number % 3) + "red.") for number in range(SAMPLES)])
    settings = with_settings(settings_for(weights, source, folder / "run"), held_out=0.2, batch=2)
    dump_here(settings)
    return settings


@pytest.fixture(scope="module")
def live(stored) -> Settings:
    settings = with_settings(stored, features="online")
    checked_features(settings)
    return settings


@pytest.fixture(scope="module")
def worker(live) -> Online:
    return open_features(live, CPU)


def make(settings: Settings, name: str, inner: int | None = None):
    torch.manual_seed(0)
    ends = load_ends(settings.target.name, settings.target.weights, "float32")
    return make_draft(name, section_for(settings, name, inner), WIDTH).attach(ends).eval()


def test_samples_lengths_plans_and_vocabulary_are_those_of_a_store(stored, live):
    store, made = checked_features(stored), checked_features(live)
    assert made.ids() == store.ids()
    assert made.lengths() == store.lengths()
    assert Samples.of(made, live.train, 2) == Samples.of(store, stored.train, 2)
    assert torch.equal(answer_vocabulary(made, 8, 300), answer_vocabulary(store, 8, 300))


def test_features_are_the_stored_ones_before_rounding_in_any_order(stored, worker):
    """So training that stops and goes on sees what it would have seen."""
    store = checked_features(stored)
    for id in [worker.ids()[0], *reversed(worker.ids())]:
        ours, theirs = worker.read(id), store.read(id)
        assert ours.features.dtype == torch.float32
        assert torch.equal(ours.features.bfloat16(), theirs.features)
        assert torch.equal(ours.ids, theirs.ids) and torch.equal(ours.answer_mask, theirs.answer_mask)
        assert (ours.id, ours.spans, ours.inner) == (theirs.id, theirs.spans, None)


@pytest.mark.parametrize("name", ["specflash", "eagle"])
def test_losses_are_those_of_a_store_up_to_its_rounding(stored, worker, name):
    """And equal once these are rounded, too."""
    draft, sources = make(stored, name), (checked_features(stored), worker)
    batches = [Reader(source, worker.ids(), torch.float32, CPU).batch(range(3)) for source in sources]
    left, right = map(draft.loss, batches)
    assert right.rows == left.rows > 0
    torch.testing.assert_close(right.loss, left.loss, rtol=2**-7, atol=0)
    rounded = replace(batches[1], features=batches[1].features.bfloat16().float())
    assert torch.equal(draft.loss(rounded).loss, left.loss)


def test_a_draft_learns_from_them(live, worker):
    """They come from inference and go into a gradient."""
    draft = make(live, "eagle").train()
    draft.loss(Reader(worker, worker.ids(), torch.float32, CPU).batch([0, 1])).loss.backward()
    assert all(parameter.grad is not None for parameter in draft.parameters())


def test_inner_states_come_along_where_the_settings_name_a_layer(live):
    settings = with_settings(live, {"inner": 0})
    assert checked_features(settings).manifest.inner == 0
    made = open_features(settings, CPU)
    draft, ids = make(settings, "dream", 0), made.ids()
    with_inner, without = (Reader(made, ids, torch.float32, CPU, inner).batch([0, 1]) for inner in (True, False))
    assert with_inner.inner.shape == with_inner.features.shape
    assert without.inner is None
    assert draft.loss(with_inner).loss.isfinite()
    assert torch.equal(without.features, with_inner.features)
    checked_features(live)  # the index of the others again


def test_a_draft_that_looks_into_the_target_says_what_is_missing(live):
    with pytest.raises(UserError, match=r"`dream` looks into the target.* set dump\.inner=auto"):
        section_for(live, "dream", None)
    with pytest.raises(UserError, match=r"drafts\.dream\.inner_layer=3, but these features hold layer 0"):
        section_for(live.model_copy(update={"drafts": {"dream": {"inner_layer": 3}}}), "dream", 0)
    assert section_for(live, "eagle", None) == DRAFTS["eagle"]


def test_answers_that_are_yet_to_be_spoken_are_refused(live):
    with pytest.raises(UserError, match="run `specflash regenerate`"):
        checked_features(with_settings(live, {"answers": "target"}))


def test_a_finished_draft_of_the_other_kind_is_another_recipe(stored, live):
    def recipe(settings: Settings) -> dict[str, str]:
        return recipe_of(settings, make(settings, "eagle"), checked_features(settings), start=None)

    old, new = recipe(stored), recipe(live)
    assert recipe_hash(old) != recipe_hash(new)
    assert "train.features" not in old  # drafts from before there was a choice stay what they are
    assert new["train.features"] == '"online"'
    assert new["features"] != old["features"]
    assert new["samples"] == old["samples"]


def test_an_index_is_made_once_for_the_same_conditions(live, monkeypatch):
    def refuse(*_):
        raise AssertionError("encoded again")

    monkeypatch.setattr(online, "load_encoder", refuse)
    assert len(checked_features(live).ids()) == SAMPLES
    with pytest.raises(AssertionError, match="encoded again"):
        checked_features(with_settings(live, {"max_length": 200}))


def test_bad_samples_are_left_out_with_their_reason_and_a_changed_source_is_noticed(weights, tmp_path):
    source = write_source(tmp_path / "data", 3)
    (source / "images" / "1.jpg").write_bytes(b"no picture")
    settings = with_settings(settings_for(weights, source, tmp_path / "run"), features="online")
    assert len(checked_features(settings).ids()) == 2
    assert len((settings.online_folder / "quarantine.jsonl").read_text().splitlines()) == 1
    write_rows(source, [exchange(number, "Something else.") for number in range(3)])
    made = open_features(settings, CPU)
    with pytest.raises(UserError, match=r"dump\.source is not what it was"):
        made.read(made.ids()[0])
