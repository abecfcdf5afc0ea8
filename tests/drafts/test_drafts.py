"""What every draft of the catalogue promises."""

from dataclasses import replace

import pytest
import torch

from specflash.drafts import DRAFTS
from specflash.drafts.anchors import find_anchors
from specflash.drafts.base import Draft
from specflash.drafts.collate import add_noise, collate
from specflash.drafts.loss import draft_loss
from specflash.records import Batch, Features
from specflash.sampling import Chance, Sampling, distribution
from tests.drafts.toy import NO_PICTURE, ONE_PICTURE, TWO_PICTURES, K, V, draft, features, open_session

TRAINED = [name for name, kind in DRAFTS.items() if kind.trainable]
REGRESSING = ["specflash", "specflash-base", "eagle", "eagle-vlm"]
FED_WITH_FEATURES = [*REGRESSING, "specvlm", "dream", "medusa"]
VOCABULARY = torch.tensor([5, 1, 30, 22, 9, 17])


def samples() -> list[Features]:
    return [features(26, ONE_PICTURE, ((16, 26),), seed=1),
            features(22, TWO_PICTURES, ((14, 18), (19, 22)), seed=2),
            features(12, NO_PICTURE, ((5, 12),), seed=3)]


def batch() -> Batch:
    return collate(samples())


@pytest.mark.parametrize("name", TRAINED)
def test_every_parameter_is_trained_and_no_table_is(name):
    made = draft(name).train()
    made.loss(batch()).loss.backward()
    for parameter, value in made.named_parameters():
        assert value.grad is not None and value.grad.any(), parameter
    tables = {made.ends.embedding.data_ptr(), made.ends.lm_head.data_ptr()}
    assert not made.ends.embedding.requires_grad and made.ends.lm_head.grad is None
    assert not tables & {tensor.data_ptr() for tensor in made.state_dict().values()}
    assert all(V not in tensor.shape for tensor in made.state_dict().values())


@pytest.mark.parametrize("name", TRAINED)
def test_a_batch_without_pictures_gives_every_parameter_a_gradient(name):
    """Else workers whose batches differ would average different sets of gradients."""
    made = draft(name).train()
    made.loss(collate([features(12, NO_PICTURE, ((5, 12),))])).loss.backward()
    assert all(parameter.grad is not None for parameter in made.parameters())


@pytest.mark.parametrize("name", FED_WITH_FEATURES)
def test_padding_and_what_follows_the_answer_get_no_gradient(name):
    made, data = draft(name), batch()
    inputs = data.features.clone().requires_grad_()
    made.loss(replace(data, noisy=inputs)).loss.backward()
    for b, length in enumerate(data.lengths):
        # Base L-2 pairs with the last token but has no feature left to regress to.
        assert not inputs.grad[b, length - 2 :].any()
        assert inputs.grad[b, length - 3].any()


@pytest.mark.parametrize("name", TRAINED)
def test_neighbours_in_a_batch_do_not_matter(name):
    made, data = draft(name), batch()
    together = made.loss(data)
    alone = [made.loss(collate([sample])) for sample in samples()]
    assert together.rows == sum(parts.rows for parts in alone)
    torch.testing.assert_close(together.loss * together.rows,
                               sum(parts.loss * parts.rows for parts in alone), rtol=1e-4, atol=0)


@pytest.mark.parametrize("name", REGRESSING)
def test_noise_enters_the_input_only(name):
    """The loss with noise is that of drafting from noisy features against the clean ones."""
    made, data = draft(name), batch()
    noisy = add_noise(data, 0.5, torch.Generator().manual_seed(0))
    anchors = find_anchors(data.answer_mask, K)
    from_noisy = made.predict(replace(data, features=noisy.inputs), anchors)
    torch.testing.assert_close(made.loss(noisy).loss, draft_loss(made, data, anchors, from_noisy).loss)
    assert not torch.allclose(from_noisy, made.predict(data, anchors))


@pytest.mark.parametrize("name", TRAINED)
def test_one_tiny_batch_can_be_learnt_by_heart(name):
    torch.manual_seed(0)
    made = draft(name, **({"dropout": 0.0} if "dropout" in DRAFTS[name].Config.model_fields else {}))
    data = collate([features(18, ONE_PICTURE, ((13, 18),), seed=1)])
    optimiser = torch.optim.AdamW(made.parameters(), lr=1e-2)
    first = made.train().loss(data)
    for _ in range(80):
        optimiser.zero_grad()
        made.loss(data).loss.backward()
        optimiser.step()
    last = made.loss(data)
    assert last.loss < first.loss
    assert last.correct.tolist() == last.total.tolist() != first.correct.tolist()


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("limit, tokens", [(0, 0), (-1, 0), (1, 1), (3, 3), (9, K)])
@pytest.mark.parametrize("sampled", [False, True])
def test_no_more_is_drafted_than_asked_for(name, limit, tokens, sampled):
    made = draft(name, sampled=sampled)
    with torch.inference_mode():
        session = open_session(made, features(20, ONE_PICTURE), 15)
        proposal = session.propose(Sampling(temperature=1.0), Chance(0), limit)
    assert proposal.tokens.shape == (tokens,) and proposal.tokens.dtype == torch.int64
    if sampled and tokens:
        assert proposal.q.shape == (tokens, V)


@pytest.mark.parametrize("name", TRAINED)
def test_proposing_twice_proposes_the_same(name):
    """Drafting leaves no trace: what was drafted and not committed is forgotten."""
    made = draft(name)
    with torch.inference_mode():
        session = open_session(made, features(20, ONE_PICTURE), 15)
        a, b = (session.propose(Sampling(), None, K).tokens for _ in range(2))
    assert torch.equal(a, b)


def draw_many(made: Draft, sampling: Sampling):
    with torch.inference_mode():
        session = open_session(made, features(20, ONE_PICTURE), 15)
        chance = Chance(0)
        return [session.propose(sampling, chance, 1) for _ in range(2000)]


@pytest.mark.parametrize("name", TRAINED)
def test_sampled_drafts_follow_their_q_which_lies_in_the_draft_vocabulary(name):
    made = draft(name, VOCABULARY, sampled=True)
    proposals = draw_many(made, Sampling(temperature=2.0, top_k=4))
    q = proposals[0].q[0]
    assert q.sum().item() == pytest.approx(1) and int((q > 0).sum()) == 4
    assert set(q.nonzero().flatten().tolist()) <= set(VOCABULARY.tolist())
    counts = torch.bincount(torch.cat([proposal.tokens for proposal in proposals]), minlength=V)
    sigma = (q * (1 - q) / len(proposals)).sqrt()
    assert ((counts / len(proposals) - q).abs() <= 4 * sigma).all()


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("vocabulary_ids", [None, VOCABULARY])
def test_greedy_drafts_are_the_most_likely_tokens(name, vocabulary_ids):
    made = draft(name, vocabulary_ids)
    rows = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    logits = made.ends.head(rows)
    allowed = torch.arange(V) if vocabulary_ids is None else vocabulary_ids
    expected = allowed[logits[:, allowed].argmax(-1)]
    for sampling in (Sampling(), Sampling(temperature=1.0)):
        proposal = made.choose(rows, sampling, None)
        assert torch.equal(proposal.tokens, expected) and proposal.q is None
    torch.testing.assert_close(made.draft_logits(rows), logits[:, allowed])


def test_sampled_drafts_at_temperature_0_are_greedy():
    made = draft("specflash", sampled=True)
    rows = torch.randn(5, 16)
    proposal = made.choose(rows, Sampling(), None)
    assert proposal.q is None
    assert torch.equal(distribution(made.draft_logits(rows), Sampling()).argmax(-1), proposal.tokens)


def test_a_batch_goes_through_forward_like_through_loss():
    made, data = draft("eagle"), batch()
    assert torch.equal(made(data).loss, made.loss(data).loss)
