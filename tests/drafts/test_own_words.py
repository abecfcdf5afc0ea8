"""Scheduled sampling: exact shares, one coin per sample, and the words that decoding would have heard."""

import pytest
import torch

from specflash.drafts.anchors import Anchors, find_anchors, thin
from specflash.drafts.base import Draft
from specflash.drafts.collate import collate
from specflash.drafts.own_words import share_at, toss
from specflash.records import Batch
from specflash.sampling import Sampling
from tests.drafts.toy import NO_PICTURE, ONE_PICTURE, TWO_PICTURES, K, draft, features, open_session

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
VOCABULARY = torch.tensor([5, 1, 30, 22, 9, 17])


def data() -> Batch:
    return collate([features(26, ONE_PICTURE, ((16, 26),), seed=1),
                    features(22, TWO_PICTURES, ((14, 18), (19, 22)), seed=2),
                    features(14, NO_PICTURE, ((5, 14),), seed=3)])


def training(share: float, vocabulary_ids: torch.Tensor | None = None, **settings) -> Draft:
    """A draft at the end of its training, in train mode."""
    made = draft("specflash", vocabulary_ids, **{"dropout": 0.0, **settings, "own_words": share})
    made.note_progress(1.0)
    return made.train()


def rows(made: Draft, batch: Batch, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    with torch.no_grad():
        return made.predict(batch, find_anchors(batch.answer_mask, K))


@pytest.mark.parametrize(("epoch", "share"), [(0, 0), (2, 0), (4, 0), (13, 0.05), (22, 0.1), (40, 0.2)])
def test_the_paper_s_schedule_of_40_epochs(epoch, share):
    assert share_at(epoch / 40, 0.2, 0.1) == pytest.approx(share)


def test_without_a_quiet_beginning_it_rises_from_the_start():
    assert [share_at(over, 0.5, 0.0) for over in (0.0, 0.25, 1.0)] == [0.0, 0.125, 0.5]


def test_coins_are_as_many_as_samples_and_fall_as_often_as_they_should():
    torch.manual_seed(0)
    coins = toss(4000, 0.2, torch.device("cpu"))
    assert coins.shape == (4000,) and coins.float().mean().item() == pytest.approx(0.2, abs=0.025)
    assert toss(9, 1.0, torch.device("cpu")).all()


def test_a_share_of_0_draws_nothing_from_the_generator():
    before = torch.get_rng_state()
    assert not toss(5, 0.0, torch.device("cpu")).any()
    assert torch.equal(torch.get_rng_state(), before)


def taught(self, rows, ids, anchors: Anchors):
    """Refinement that knows the text's words alone, one row after the other."""
    refined = rows.clone()
    for slot in range(1, K):
        of_slot = (anchors.slot == slot).nonzero().flatten()
        said = ids[anchors.sample[of_slot, None], anchors.target[of_slot, None] - torch.arange(slot)]
        refined = refined.index_copy(0, of_slot, self.refiner(rows[of_slot], slot, self.heard(said)))
    return refined


@pytest.mark.parametrize("over", [0.0, 0.1, 1.0])
def test_with_probability_0_the_loss_is_that_of_the_text_s_words_to_the_last_bit(monkeypatch, over):
    """With dropout and thinning on, whose draws come from the same generator."""
    made, losses = draft("specflash", dropout=0.3, slot_keep=0.7, own_words=0.0 if over == 1 else 0.2).train(), []
    for _ in range(2):
        made.note_progress(over)
        torch.manual_seed(0)
        losses.append(made.loss(data()).loss)
        monkeypatch.setattr(type(made), "_refined", taught)
    assert torch.equal(*losses)


@pytest.mark.parametrize("vocabulary_ids", [None, VOCABULARY])
@pytest.mark.parametrize("spans", [NO_PICTURE, ONE_PICTURE])
def test_with_probability_1_the_rows_are_those_of_decoding_s_own_chain(vocabulary_ids, spans):
    made, sample, start, end = training(1.0, vocabulary_ids), features(26, spans, ((14, 26),)), 14, 26
    trained = rows(made, collate([sample]))
    anchors = find_anchors(sample.answer_mask[None], K)
    made.eval()
    for base in range(start - 1, end - 2):
        chain, choose = [], type(made).choose

        def spy(drafted, sampling, chance, chain=chain, choose=choose):
            chain.append(drafted)
            return choose(made, drafted, sampling, chance)

        made.choose = spy
        with torch.inference_mode():
            open_session(made, sample, base + 1).propose(Sampling(), None, K)
        of_base = anchors.target - 1 - anchors.slot == base
        torch.testing.assert_close(trained[of_base], torch.cat(chain)[: int(of_base.sum())], **CLOSE)


def test_the_draft_s_words_are_not_the_text_s():
    """Else the test above would say nothing: with the text's words later slots have other rows."""
    slot = find_anchors(data().answer_mask, K).slot
    apart = (rows(training(1.0), data()) != rows(training(0.0), data())).any(-1)
    assert not apart[slot == 0].any() and apart[slot > 0].float().mean() > 0.8


def test_a_coin_is_tossed_per_sample_and_whole_samples_switch_together():
    batch = data()
    sample = find_anchors(batch.answer_mask, K).sample
    text, own = rows(training(0.0), batch), rows(training(1.0), batch)
    seen = set()
    for seed in range(20):
        mixed = rows(training(0.5), batch, seed)
        coins = tuple(torch.equal(mixed[sample == b], own[sample == b]) for b in range(3))
        for b, coin in enumerate(coins):
            assert coin or torch.equal(mixed[sample == b], text[sample == b])
        seen.add(coins)
    assert len(seen) > 4


def test_the_same_seed_tosses_the_same_coins():
    assert torch.equal(rows(training(0.5), data(), seed=3), rows(training(0.5), data(), seed=3))


def test_thinned_rows_hear_the_words_they_would_hear_among_all():
    made, batch = training(1.0), data()
    torch.manual_seed(0)
    every = find_anchors(batch.answer_mask, K)
    kept = thin(every, 0.5)
    with torch.no_grad():
        few = made.predict(batch, kept)
    assert len(kept.slot) < len(every.slot)
    torch.testing.assert_close(few, rows(made, batch)[kept.valid[every.valid]], **CLOSE)


def gradients(made: Draft, batch: Batch) -> list[torch.Tensor]:
    made.zero_grad()
    made.loss(batch).loss.backward()
    return [parameter.grad.clone() for parameter in made.parameters()]


def test_no_gradient_flows_through_the_choice_of_words():
    """The gradient is that of the same words given from outside."""
    made, batch, words = training(1.0), data(), []
    spoken = made._spoken
    made._spoken = lambda rows: words.append(spoken(rows)) or words[-1]
    chosen = gradients(made, batch)
    assert len(words) == K - 1 and all(len(each) for each in words)
    given = iter(words)
    made._spoken = lambda rows: next(given)
    for ours, constant in zip(chosen, gradients(made, batch), strict=True):
        assert torch.equal(ours, constant)


def test_evaluation_gives_the_text_s_words_however_far_the_training_is():
    made, batch = draft("specflash", own_words=1.0).eval(), data()
    before = made.loss(batch)
    made.note_progress(1.0)
    after = made.loss(batch)
    assert torch.equal(before.loss, after.loss) and torch.equal(before.correct, after.correct)


def test_a_draft_that_was_told_nothing_hears_the_text():
    made = draft("specflash", own_words=1.0, dropout=0.0).train()
    assert torch.equal(rows(made, data()), rows(training(0.0), data()))
