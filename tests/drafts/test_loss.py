import pytest
import torch
import torch.nn.functional as F

from specflash.drafts import loss as loss_module
from specflash.drafts.anchors import find_anchors
from specflash.drafts.collate import collate
from specflash.drafts.loss import draft_loss, law_loss
from tests.drafts.toy import SETTINGS, D, K, V, draft, ends, features

VOCABULARIES = [None, torch.tensor([7, 3, 39, 0, 12])]


def batch():
    return collate([features(20, (), ((8, 20),), seed=1), features(12, (), ((6, 12),), seed=2)])


def plain_loss(predicted, wanted, vocabulary_ids):
    """The definition, with ordinary autograd."""
    head = ends().lm_head if vocabulary_ids is None else ends().lm_head[vocabulary_ids]
    regression = F.smooth_l1_loss(predicted, wanted, reduction="none").mean(-1)
    p = (wanted @ head.T).softmax(-1)
    classification = -(p * (predicted @ head.T).log_softmax(-1)).sum(-1)
    return (regression + 0.1 * classification).mean()


def rows(name, vocabulary_ids):
    """A draft, a batch, and random predictions of its trained rows beside what they should be."""
    made, data = draft(name, vocabulary_ids), batch()
    anchors = find_anchors(data.answer_mask, K)
    predicted = torch.randn(len(anchors.slot), D, requires_grad=True)
    return made, data, anchors, predicted, data.features[anchors.sample, anchors.target]


@pytest.mark.parametrize("vocabulary_ids", VOCABULARIES)
@pytest.mark.parametrize("chunk", [3, 256])
def test_value_and_gradient_are_those_of_the_definition(vocabulary_ids, chunk, monkeypatch):
    monkeypatch.setattr(loss_module, "CHUNK", chunk)
    made, data, anchors, predicted, wanted = rows("specflash", vocabulary_ids)
    parts = draft_loss(made, data, anchors, predicted)
    expected = plain_loss(predicted, wanted, vocabulary_ids)
    torch.testing.assert_close(parts.loss, expected)
    assert parts.rows == len(predicted)
    total = (parts.parts["regression"] + 0.1 * parts.parts["classification"]) / parts.rows
    assert total == pytest.approx(expected.item(), rel=1e-5)
    ours, = torch.autograd.grad(3 * parts.loss, predicted)
    theirs, = torch.autograd.grad(3 * expected, predicted)
    torch.testing.assert_close(ours, theirs)


def test_a_value_by_hand():
    """Off by 3 in every dimension: Smooth-L1 is 3 - 1/2; with one token the cross-entropy is 0."""
    made, data = draft("specflash", torch.tensor([4])), batch()
    anchors = find_anchors(data.answer_mask, K)
    predicted = data.features[anchors.sample, anchors.target] + 3
    assert float(draft_loss(made, data, anchors, predicted).loss) == pytest.approx(2.5, rel=1e-5)


def test_true_features_are_always_correct():
    made, data = draft("specflash"), batch()
    anchors = find_anchors(data.answer_mask, K)
    parts = draft_loss(made, data, anchors, data.features[anchors.sample, anchors.target])
    assert parts.correct.tolist() == parts.total.tolist() == [16, 14, 12, 10]
    assert parts.parts["regression"] == 0


def test_a_draft_is_wrong_where_it_cannot_say_the_target_s_token():
    """Correct means the token the target would accept, not the best of the draft vocabulary."""
    ids = torch.arange(V // 2)
    made, data = draft("specflash", ids).eval(), batch()
    anchors = find_anchors(data.answer_mask, K)
    wanted = data.features[anchors.sample, anchors.target]
    sayable = (wanted @ ends().lm_head.T).argmax(-1) < V // 2
    parts = draft_loss(made, data, anchors, wanted)
    assert int(parts.correct.sum()) == int(sayable.sum()) < parts.rows


def test_training_and_evaluation_give_the_same_loss():
    """In training the target's law is computed over the draft vocabulary alone."""
    made, data = draft("specflash", VOCABULARIES[1]), batch()
    anchors = find_anchors(data.answer_mask, K)
    predicted = data.features[anchors.sample, anchors.target] + 0.1
    training = draft_loss(made.train(), data, anchors, predicted)
    torch.testing.assert_close(training.loss, draft_loss(made.eval(), data, anchors, predicted).loss)


@pytest.mark.parametrize("vocabulary_ids", VOCABULARIES)
@pytest.mark.parametrize("chunk", [3, 256])
def test_the_loss_of_laws_is_that_of_the_definition(vocabulary_ids, chunk, monkeypatch):
    monkeypatch.setattr(loss_module, "CHUNK", chunk)
    made, data, anchors, predicted, wanted = rows("medusa", vocabulary_ids)
    head = ends().lm_head if vocabulary_ids is None else ends().lm_head[vocabulary_ids]
    entropy = -((wanted @ head.T).softmax(-1) * (predicted @ head.T).log_softmax(-1)).sum(-1)
    weights = torch.tensor([1, 0.5, 0.25, 0.125])[anchors.slot]
    parts = law_loss(made, data, anchors, predicted, decay=0.5)
    torch.testing.assert_close(parts.loss, (weights * entropy).mean())
    assert parts.parts["classification"] == pytest.approx(entropy.sum().item(), rel=1e-5)
    assert parts.total.tolist() == [16, 14, 12, 10]
    ours, = torch.autograd.grad(3 * parts.loss, predicted)
    theirs, = torch.autograd.grad(3 * (weights * entropy).mean(), predicted)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_batch_without_answers_gives_zero_and_zero_gradients(name):
    made = draft(name)
    parts = made.loss(collate([features(9)]))
    parts.loss.backward()
    assert parts.loss.item() == 0 and parts.rows == 0 and not parts.total.any()
    assert all(not p.grad.any() for p in made.parameters() if p.grad is not None)
