from dataclasses import replace

import pytest
import torch

from specflash.drafts.anchors import find_anchors
from specflash.drafts.collate import add_noise, collate
from specflash.drafts.specvlm import question_mask
from specflash.drafts.store import make_draft
from specflash.errors import UserError
from specflash.sampling import Sampling
from tests.drafts.toy import NO_PICTURE, ONE_PICTURE, TWO_PICTURES, D, K, draft, features, follow, open_session

LENGTH, PROMPT = 30, 18
EQUAL_PICTURES = ((2, 4), (7, 4), (12, 2))
CHOICES = ["prune", "pool", "conv", "resampler", "no picture"]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def choosing(choice: str, **settings):
    """A draft whose gate always chooses the same."""
    made = draft("specvlm", **settings)
    made.compressor.gate[1].weight.data.zero_()
    made.compressor.gate[1].bias.data = torch.eye(len(CHOICES))[CHOICES.index(choice)]
    return made


def sample(spans=ONE_PICTURE, seed=0):
    return features(LENGTH, spans, ((PROMPT, LENGTH),), seed=seed)


def predict(made, *samples):
    batch = collate(samples)
    anchors = find_anchors(batch.answer_mask, K)
    return made.predict(batch, anchors), anchors


def drafted(made, asked, prompt=PROMPT):
    """The drafted features [K, D] of a session's first chain, and the session."""
    session = open_session(made, asked, prompt)
    made.committed, seen = prompt + 1, follow(made, asked)
    session.propose(Sampling(), None, K)
    return torch.cat(seen), session


@pytest.mark.parametrize("spans", [ONE_PICTURE, EQUAL_PICTURES])
@pytest.mark.parametrize("choice", CHOICES)
@torch.inference_mode()
def test_what_is_chosen_is_trained_as_it_is_served(choice, spans):
    made = choosing(choice)
    rows, anchors = predict(made, sample(spans), features(LENGTH + 5, ONE_PICTURE, ((20, 35),), seed=1))
    chain, session = drafted(made, sample(spans))
    own = (anchors.sample == 0) & (anchors.target - 1 - anchors.slot == PROMPT - 1)
    torch.testing.assert_close(chain, rows[own], **CLOSE)
    text = PROMPT - sum(length for _, length in spans)
    latents = {"prune": [-(-n // 4) for _, n in spans], "pool": [{9: 2 * 2, 4: 1, 2: 1}[n] for _, n in spans],
               "conv": [-(-n // 3) for _, n in spans], "resampler": [2] * len(spans), "no picture": [0]}
    assert session._buffer.length == text + sum(latents[choice])  # the draft's memory is as short as that


@pytest.mark.parametrize("choice", CHOICES)
@torch.inference_mode()
def test_where_training_s_weights_are_one_hot_it_is_decoding(choice):
    """All latents are there in training; those of weight 0 change nothing."""
    made = choosing(choice)
    expected, _ = predict(made, sample(), sample(TWO_PICTURES, seed=1))
    calm = made.compressor.weigh
    made.train()
    made.compressor.weigh = lambda question: calm.__func__(made.compressor.eval(), question)
    with_all = made.compressor.forward
    made.compressor.forward = lambda *given: with_all.__func__(made.compressor.train(), *given)
    torch.testing.assert_close(predict(made, sample(), sample(TWO_PICTURES, seed=1))[0], expected, **CLOSE)


@pytest.mark.parametrize("settings", [{}, {"fusion": "weighted"}, {"fusion": "concat"}])
def test_in_training_every_expert_hears_from_every_batch(settings):
    made = draft("specvlm", **settings).train()
    made.loss(collate([sample(), sample(NO_PICTURE, seed=1)])).loss.backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad.any(), name
    made.zero_grad()
    made.loss(collate([sample(NO_PICTURE)])).loss.backward()
    for name, parameter in made.compressor.named_parameters():
        assert parameter.grad is not None and not parameter.grad.any(), name


def test_training_draws_the_weights_and_evaluation_does_not():
    made, batch = draft("specvlm"), collate([sample()])
    assert made.loss(batch).loss == made.loss(batch).loss
    assert made.train().loss(batch).loss != made.loss(batch).loss


@torch.inference_mode()
def test_shown_every_token_it_is_eagle_vlm():
    """One expert that keeps all, and the placeholder behind the picture too: the same rows at the same places."""
    made = draft("specvlm", prune=1, pool=0, conv=0, queries=0, fusion="concat")
    plain = draft("eagle-vlm")
    made.load_state_dict(plain.state_dict(), strict=True)
    shown = sample()
    start, length = ONE_PICTURE[0]
    shown.ids[start : start + length + 1] = 7
    torch.testing.assert_close(predict(made, shown)[0], predict(plain, shown)[0], **CLOSE)


@torch.inference_mode()
def test_without_pictures_it_is_eagle_vlm():
    made, plain = draft("specvlm"), draft("eagle-vlm")
    plain.load_state_dict({name: made.state_dict()[name] for name in plain.state_dict()})
    torch.testing.assert_close(predict(made, sample(NO_PICTURE))[0], predict(plain, sample(NO_PICTURE))[0], **CLOSE)


@pytest.mark.parametrize("choice", CHOICES)
@torch.inference_mode()
def test_the_picture_matters_where_the_gate_shows_it(choice):
    made, shown = choosing(choice), sample()
    before, _ = predict(made, shown)
    shown.features[slice(ONE_PICTURE[0][0], sum(ONE_PICTURE[0]))] += 1
    assert torch.equal(predict(made, shown)[0], before) == (choice == "no picture")


def test_the_question_is_the_text_behind_the_first_picture_and_before_the_first_answer():
    mask = torch.zeros(2, 12, dtype=torch.bool)
    mask[0, 8:10] = mask[1, 3:5] = mask[1, 7:12] = True
    asked = question_mask(mask, [((1, 2), (4, 3)), ()])
    assert asked[0].nonzero().flatten().tolist() == [3, 7]
    assert asked[1].nonzero().flatten().tolist() == [0, 1, 2]


@torch.inference_mode()
def test_the_gate_hears_the_true_features_of_the_question_and_no_more():
    made, batch = draft("specvlm"), collate([sample()])
    heard, hear = [], made.compressor.weigh
    made.compressor.weigh = lambda question: heard.append(question) or hear(question)
    asked = batch.features[0, sum(ONE_PICTURE[0]) : PROMPT].mean(0, keepdim=True)
    made.predict(add_noise(batch, 1.0, None), find_anchors(batch.answer_mask, K))
    drafted(made, sample())
    drafted(made, sample(), prompt=PROMPT + 7)  # a later turn: an answer stands in the prompt
    moved = batch.features.clone()
    moved[0, : sum(ONE_PICTURE[0])] += 1
    moved[0, PROMPT:] += 1
    made.predict(replace(batch, features=moved), find_anchors(batch.answer_mask, K))
    assert len(heard) == 4
    for question in heard:
        torch.testing.assert_close(question, asked)


@pytest.mark.parametrize(("wrong", "said"), [
    ({"prune": -1}, "`prune`: "), ({"temperature": 0}, "`temperature`: "), ({"fusion": "sum"}, "`fusion`: "),
    ({"fusion": "weighted", "conv": 0}, "`fusion`: .*`weighted` needs `conv`"),
    ({"prune": 0, "pool": 0, "conv": 0, "queries": 0, "no_image": False}, "`fusion`: .*`dynamic` needs `prune` or"),
    ({"prune": 0, "pool": 0, "conv": 0, "queries": 0, "fusion": "concat"}, "`fusion`: .*`concat` needs `prune` or")])
def test_a_compressor_that_cannot_be_is_refused(wrong, said):
    with pytest.raises(UserError, match=said):
        make_draft("specvlm", wrong, D)
