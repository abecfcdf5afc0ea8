import pytest
import torch
import torch.nn.functional as F

from specflash.drafts.blocks import BlockShape
from specflash.drafts.experts import Conv, Pool, Prune, Resampler, evenly

WIDTH = 8
SHAPE = BlockShape(WIDTH, heads=2, head_dim=4, inner=0, bias=False, input_norm=False, dropout=0.0)


def features(tokens: int, pictures: int = 2) -> torch.Tensor:
    return torch.randn(pictures, tokens, WIDTH, generator=torch.Generator().manual_seed(tokens))


@pytest.mark.parametrize(("expert", "latents"), [
    (Prune(20), {576: 29, 324: 17, 7: 1, 1: 1}), (Prune(3), {576: 192, 324: 108, 7: 3, 1: 1}),
    (Pool(20), {576: 5 * 5, 324: 4 * 4, 577: 29, 7: 1, 1: 1}), (Pool(3, grid=False), {576: 192, 324: 108, 7: 3, 1: 1}),
    (Conv(3, WIDTH), {576: 192, 324: 108, 577: 193, 7: 3, 1: 1}), (Conv(20, WIDTH), {576: 29, 7: 1}),
    (Resampler(2, SHAPE), {576: 2, 324: 2, 7: 2, 1: 2})])
def test_any_number_of_tokens_becomes_the_right_number_of_latents(expert, latents):
    for tokens, count in latents.items():
        assert expert(features(tokens)).shape == (2, count, WIDTH)


@pytest.mark.parametrize("expert", [Conv(4, WIDTH), Resampler(2, SHAPE)])
def test_without_pictures_gradients_are_zero_and_not_none(expert):
    expert(features(1, pictures=0)).sum().backward()
    assert all(parameter.grad is not None and not parameter.grad.any() for parameter in expert.parameters())


def test_places_are_the_middles_of_equal_parts():
    assert evenly(10, 2).tolist() == [2, 7]
    assert evenly(9, 3).tolist() == [1, 4, 7]
    assert evenly(5, 5).tolist() == [0, 1, 2, 3, 4]
    assert evenly(1, 2).tolist() == [0, 0]


def test_pruning_keeps_tokens_as_they_are():
    seen = features(10)
    assert torch.equal(Prune(5)(seen), seen[:, [2, 7]])
    assert torch.equal(Prune(1)(seen), seen)


def test_a_square_is_pooled_over_cells_and_anything_else_over_runs():
    square = torch.arange(16.0)[None, :, None]  # four rows of four
    assert Pool(4)(square).flatten().tolist() == [2.5, 4.5, 10.5, 12.5]
    assert Pool(4, grid=False)(square).flatten().tolist() == [1.5, 5.5, 9.5, 13.5]
    assert Pool(3)(square[:, :6]).flatten().tolist() == [1, 4]


def test_pooling_does_not_mind_the_order_within_a_cell():
    seen = features(16)
    within = torch.tensor([0, 1, 4, 5])  # the upper left cell
    shuffled = seen.clone()
    shuffled[:, within] = seen[:, within.flip(0)]
    torch.testing.assert_close(Pool(4)(shuffled), Pool(4)(seen))


def test_the_convolution_is_torch_s():
    expert, seen = Conv(3, WIDTH), features(12)
    torch.nn.init.normal_(expert.kernel.weight)
    kernel = expert.kernel.weight.unflatten(1, (3, WIDTH)).transpose(1, 2)
    torch.testing.assert_close(expert(seen), F.conv1d(seen.mT, kernel, expert.kernel.bias, stride=3).mT)


def test_the_convolution_starts_as_a_mean_and_repeats_the_last_token():
    expert, seen = Conv(3, WIDTH), features(7)
    expected = torch.stack([seen[:, :3].mean(1), seen[:, 3:6].mean(1), seen[:, 6]], 1)
    torch.testing.assert_close(expert(seen), expected)


def test_the_resampler_minds_no_order_and_starts_within_the_picture_s_range():
    expert, seen = Resampler(2, SHAPE), features(20)
    latents = expert(seen)
    torch.testing.assert_close(expert(seen[:, torch.randperm(20)]), latents)
    assert (latents >= seen.amin(1, keepdim=True) - 1e-6).all()
    assert (latents <= seen.amax(1, keepdim=True) + 1e-6).all()
    assert not torch.allclose(latents[:, 0], latents[:, 1], atol=1e-3)
