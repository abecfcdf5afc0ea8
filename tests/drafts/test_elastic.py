import pytest
import torch

from specflash.drafts.blocks import BlockShape
from specflash.drafts.elastic import ElasticCompressor, ElasticConfig

WIDTH = 8
SHAPE = BlockShape(WIDTH, heads=2, head_dim=4, inner=0, bias=False, input_norm=False, dropout=0.0)
EXPERTS = ["prune", "pool", "conv", "resampler"]


def make(**settings) -> ElasticCompressor:
    torch.manual_seed(0)
    made = ElasticCompressor(ElasticConfig(prune=4, pool=4, **settings), SHAPE).eval()
    if made.gate is not None:
        torch.nn.init.normal_(made.gate[1].weight)
    return made


def questions(count: int = 6) -> torch.Tensor:
    return torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(2))


def pictures(count: int) -> torch.Tensor:
    return torch.randn(count, 16, WIDTH, generator=torch.Generator().manual_seed(3))


def test_in_decoding_the_gate_chooses_its_likeliest_expert():
    made = make()
    weights = made.weigh(questions(50)).exp()
    assert torch.equal(weights.argmax(-1), made.gate(questions(50)).argmax(-1))
    assert set(weights.flatten().tolist()) == {0, 1} and (weights.sum(-1) == 1).all()
    assert len(set(weights.argmax(-1).tolist())) == len(EXPERTS) + 1  # questions differ in what they ask for


def test_in_training_the_likeliest_of_a_draw_follows_the_gate_s_law():
    made, draws = make().train(), 20_000
    question = questions(1)
    law = made.gate(question).softmax(-1)[0]
    drawn = made.weigh(question.expand(draws, -1))
    torch.testing.assert_close(drawn.exp().sum(-1), torch.ones(draws))
    shares = torch.bincount(drawn.argmax(-1), minlength=len(law)) / draws
    assert ((shares - law).abs() <= 4 * (law * (1 - law) / draws).sqrt()).all()


def test_a_cold_softmax_is_nearly_a_choice():
    drawn = make(temperature=0.01).train().weigh(questions(1000)).exp()
    assert (drawn.amax(-1) > 0.99).float().mean() > 0.9


def test_in_training_the_gradient_reaches_every_expert_and_the_gate():
    made = make().train()
    parts = made(pictures(2), made.weigh(questions(2)))
    assert len(parts) == len(EXPERTS)
    sum((part.log_weight.exp()[:, None, None] * part.latents).square().sum() for part in parts).backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad.any(), name


@pytest.mark.parametrize("chosen", [0, 1, 2, 3])
def test_in_decoding_only_the_chosen_expert_is_run(chosen):
    made, run = make(), []
    for name, expert in made.experts.items():
        expert.register_forward_hook(lambda *_, name=name: run.append(name))
    made.gate[1].bias.data[chosen] = 1e3
    (part,) = made(pictures(2), made.weigh(questions(2)))
    assert run == [EXPERTS[chosen]] and part.log_weight.tolist() == [0, 0]
    assert torch.equal(part.latents, made.experts[EXPERTS[chosen]](pictures(2)))


def test_no_picture_is_a_choice_too():
    made = make()
    made.gate[1].bias.data[-1] = 1e3
    assert made(pictures(2), made.weigh(questions(2))) == []
    assert make(no_image=False).weigh(questions(2)).shape == (2, len(EXPERTS))


def test_weighted_latents_are_the_sum_of_three_experts_of_one_ratio():
    made = make(fusion="weighted", conv=3)
    assert list(made.experts) == ["prune", "pool", "conv"]
    weights = made.weigh(questions(2))
    (part,) = made(pictures(2), weights)
    by_hand = sum(weight[:, None, None] * expert(pictures(2)) for weight, expert in zip(
        made.gate(questions(2)).softmax(-1).T, made.experts.values(), strict=True))
    assert part.latents.shape == (2, 6, WIDTH) and part.log_weight.tolist() == [0, 0]
    torch.testing.assert_close(part.latents, by_hand)


def test_concatenated_latents_are_all_there_and_need_no_gate():
    made = make(fusion="concat")
    assert made.gate is None
    parts = made(pictures(2), made.weigh(questions(2)))
    assert [part.latents.shape[1] for part in parts] == [4, 4, 6, 2]
    assert not any(part.log_weight.any() for part in parts)


def test_an_expert_can_be_left_out():
    assert list(make(conv=0, queries=0).experts) == ["prune", "pool"]
    assert list(ElasticCompressor(ElasticConfig(prune=0, fusion="weighted"), SHAPE).experts) == ["pool", "conv"]
