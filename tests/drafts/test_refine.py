"""Refinement is the two layers of its equation, hears the right tokens, and starts by adding nothing."""

import pytest
import torch

from specflash.drafts.anchors import find_anchors
from specflash.drafts.collate import collate
from specflash.drafts.refine import Refiner
from specflash.drafts.store import make_draft
from specflash.sampling import Chance, Sampling
from tests.drafts.toy import ONE_PICTURE, D, K, draft, ends, features, follow, open_session


def test_it_is_the_equation():
    refiner = Refiner(slots=3, width=2, inner=1, norm=False, dropout=0.0)
    refiner.down.data[1] = torch.tensor([[1.0, 2.0, 3.0, -1.0]])
    refiner.up.data[1] = torch.tensor([[2.0], [-1.0]])
    rows, said = torch.tensor([[1.0, 1.0], [1.0, 9.0]]), torch.tensor([[0.5, 1.0], [0.5, 1.0]])
    # ReLU(0.5 + 2 + 3 - 1) = 4.5 and ReLU(0.5 + 2 + 3 - 9) = 0
    assert torch.equal(refiner(rows, 2, said), torch.tensor([[10.0, -3.5], [1.0, 9.0]]))


def test_a_new_draft_is_the_base_form():
    torch.manual_seed(0)
    refined = make_draft("specflash", {"k": K, "latents": 3, "head_dim": 8}, D).attach(ends()).eval()
    base = make_draft("specflash", {"k": K, "latents": 3, "head_dim": 8, "refine": False}, D).attach(ends()).eval()
    base.load_state_dict({name: tensor for name, tensor in refined.state_dict().items() if "refiner" not in name})
    batch = collate([features(30, ONE_PICTURE, ((15, 30),))])
    anchors = find_anchors(batch.answer_mask, K)
    with torch.no_grad():
        assert torch.equal(refined.predict(batch, anchors), base.predict(batch, anchors))


@pytest.mark.parametrize("slot", range(1, K))
def test_a_slot_hears_the_tokens_of_the_slots_before_it_and_no_others(slot):
    """Slot i at base t changes with x_{t+2} … x_{t+1+i}: those it may know when it speaks x_{t+2+i}."""
    made, sample, base = draft("specflash"), features(30, (), ((8, 30),)), 12

    def row(changed: int | None) -> torch.Tensor:
        batch = collate([sample])
        if changed is not None:
            batch.ids[0, changed] = (batch.ids[0, changed] + 1) % 40
        anchors = find_anchors(batch.answer_mask, K)
        place = ((anchors.slot == slot) & (anchors.target == base + 1 + slot)).nonzero().item()
        with torch.no_grad():
            return made.predict(batch, anchors)[place]

    heard = [place for place in range(base + 2, 30) if not torch.equal(row(place), row(None))]
    assert heard == list(range(base + 2, base + 2 + slot))


def test_a_chain_is_drafted_token_by_token_at_temperature_too():
    """q of slot i is the law given the tokens drawn before it, so drawing others changes it."""
    made, sample = draft("specflash", sampled=True), features(20)
    with torch.inference_mode():
        laws = [open_session(made, sample, 12).propose(Sampling(2.0), Chance(seed), K)
                for seed in range(6)]
    assert all(proposal.q.shape == (K, 40) for proposal in laws)
    first = [proposal.q[0] for proposal in laws]
    assert all(torch.equal(first[0], law) for law in first)
    for proposal in laws:
        for other in laws:
            same = torch.equal(proposal.tokens[:1], other.tokens[:1])
            assert torch.equal(proposal.q[1], other.q[1]) == same
    assert len({int(proposal.tokens[0]) for proposal in laws}) > 1


@pytest.mark.parametrize("limit", [0, 1, 2, K])
def test_no_more_than_asked_for_is_drafted(limit):
    made, sample = draft("specflash"), features(20)
    with torch.inference_mode():
        assert len(open_session(made, sample, 12).propose(Sampling(), None, limit).tokens) == limit


def test_the_same_chain_as_with_its_own_tokens_given():
    """What the session drafts, fed back as the sample's own tokens, is drafted again from the same rows."""
    made, sample = draft("specflash"), features(20)
    with torch.inference_mode():
        tokens = open_session(made, sample, 12).propose(Sampling(), None, K).tokens
        sample.ids[13:13 + K] = tokens
        made.committed, seen = 13, follow(made, sample)
        open_session(made, sample, 12).propose(Sampling(), None, K)
    assert torch.equal(made.target_ids(torch.cat(seen).matmul(made.ends.lm_head.T).argmax(-1)), tokens)
