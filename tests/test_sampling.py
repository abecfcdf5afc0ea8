"""The law of tokens: Hugging Face's own processors are the reference."""

import pytest
import torch
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from specflash.errors import UserError
from specflash.sampling import Chance, Sampling, distribution

ROWS, VOCABULARY = 50, 37


def random_logits(seed: int, scale: float = 3.0) -> torch.Tensor:
    return scale * torch.randn(ROWS, VOCABULARY, generator=torch.Generator().manual_seed(seed))


def hugging_face(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    warpers = [TemperatureLogitsWarper(sampling.temperature)]
    if sampling.top_k:
        warpers.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1:
        warpers.append(TopPLogitsWarper(sampling.top_p))
    for warper in warpers:
        logits = warper(None, logits)
    return logits.softmax(-1)


@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.5, 0.01])
@pytest.mark.parametrize("top_k", [0, 1, 4, VOCABULARY, VOCABULARY + 5])
@pytest.mark.parametrize("temperature", [0.3, 0.7, 1.0, 1.7])
def test_law_equals_hugging_face(temperature, top_k, top_p):
    sampling = Sampling(temperature, top_k=top_k, top_p=top_p)
    logits = random_logits(seed=top_k)
    law, reference = distribution(logits, sampling), hugging_face(logits, sampling)
    assert torch.equal(law > 0, reference > 0)
    torch.testing.assert_close(law, reference, atol=1e-7, rtol=1e-6)


def test_order_is_temperature_then_top_k_then_top_p():
    """After top-k the first token holds 0.36 / 0.70 = 0.514; before it, 0.36 alone is no nucleus of 0.505."""
    logits = torch.tensor([[0.36, 0.34, 0.30]]).log()
    law = distribution(logits, Sampling(1.0, top_k=2, top_p=0.505))
    torch.testing.assert_close(law, torch.tensor([[1.0, 0.0, 0.0]]))
    law = distribution(logits, Sampling(1.0, top_k=2, top_p=0.52))
    torch.testing.assert_close(law, torch.tensor([[0.36, 0.34, 0.0]]) / 0.70)


def test_temperature_zero_is_one_hot_at_the_argmax():
    logits = random_logits(seed=1)
    law = distribution(logits.bfloat16(), Sampling(0.0, top_k=3, top_p=0.1))
    assert law.dtype == torch.float32
    assert torch.equal(law, torch.nn.functional.one_hot(logits.bfloat16().argmax(-1), VOCABULARY).float())


@pytest.mark.parametrize("temperature", [5e-324, 1e-45, 1e-38, 1e-30, 1e-10])
@pytest.mark.parametrize("cut", [{}, {"top_k": 3}, {"top_p": 0.9}])
def test_next_to_zero_the_law_is_that_of_zero(temperature, cut):
    logits = random_logits(seed=5, scale=30)
    law = distribution(logits, Sampling(temperature, **cut))
    assert torch.equal(law, distribution(logits, Sampling(0.0)))
    assert torch.equal(Chance(0).draw(law), logits.argmax(-1))


def test_next_to_zero_equal_logits_stay_equally_likely():
    law = distribution(torch.tensor([[9.0, -90.0, 9.0]]), Sampling(1e-45))
    assert law.tolist() == [[0.5, 0.0, 0.5]]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize(("logits", "law"), [(torch.bfloat16, torch.float32), (torch.float32, torch.float32),
                                             (torch.float64, torch.float64)])
def test_probabilities_are_never_less_precise_than_float32(logits, law, temperature):
    assert distribution(random_logits(seed=2).to(logits), Sampling(temperature)).dtype == law


def test_ties_at_the_top_k_border_are_all_kept():
    law = distribution(torch.tensor([[2.0, 1.0, 1.0, 0.0]]), Sampling(1.0, top_k=2))
    assert (law > 0).tolist() == [[True, True, True, False]]


def test_draws_follow_the_law_within_four_sigma():
    law = distribution(random_logits(seed=3)[:1], Sampling(1.0, top_k=8))[0]
    draws = 20_000
    tokens = Chance(0).draw(law.expand(draws, -1))
    share = tokens.bincount(minlength=VOCABULARY) / draws
    assert (share[law == 0] == 0).all()
    assert ((share - law).abs() <= 4 * (law * (1 - law) / draws).sqrt()).all()


def test_improbable_tokens_are_never_drawn_not_even_at_the_edges():
    law = torch.tensor([0.0, 0.0, 1e-30, 1.0, 0.0, 2e-30, 0.0]).expand(2000, -1)
    assert set(Chance(0).draw(law).tolist()) == {3}


def test_draws_repeat_with_the_seed():
    law = distribution(random_logits(seed=4), Sampling(1.0))
    first, again, other = (Chance(seed).draw(law) for seed in (7, 7, 8))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(("name", "value"), [("temperature", -0.1), ("temperature", float("inf")), ("top_k", -1),
                                             ("top_p", 0.0), ("top_p", 1.1), ("max_new_tokens", 0),
                                             ("temperature", float("nan")), ("seed", 2**63), ("seed", -2**63 - 1)])
def test_settings_out_of_range_are_named(name, value):
    with pytest.raises(UserError, match=name):
        Sampling(**{name: value})
