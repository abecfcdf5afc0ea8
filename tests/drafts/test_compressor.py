import pytest
import torch

from specflash.drafts.compressor import Compressor

WIDTH = 8


def compress(compressor: Compressor, features: torch.Tensor, length: int | None = None) -> torch.Tensor:
    padding = torch.arange(features.shape[1]) >= (length or features.shape[1])
    return compressor(features, padding.expand(features.shape[:2]))


@pytest.fixture
def compressor() -> Compressor:
    torch.manual_seed(0)
    made = Compressor(5, WIDTH)
    made.queries.data.normal_()
    return made


@pytest.mark.parametrize("tokens", [324, 576, 7, 3])
def test_any_number_of_tokens_becomes_c_latents(compressor, tokens):
    assert compress(compressor, torch.randn(2, tokens, WIDTH)).shape == (2, 5, WIDTH)


def test_the_order_of_visual_tokens_does_not_matter(compressor):
    features = torch.randn(1, 20, WIDTH)
    shuffled = features[:, torch.randperm(20)]
    torch.testing.assert_close(compress(compressor, features), compress(compressor, shuffled))


def test_latents_lie_in_the_convex_hull(compressor):
    """Equal features give themselves; and no latent leaves the range of any coordinate."""
    features = torch.randn(1, 20, WIDTH)
    latents = compress(compressor, features)
    assert (latents >= features.amin(1, keepdim=True) - 1e-6).all()
    assert (latents <= features.amax(1, keepdim=True) + 1e-6).all()
    same = features[:, :1].expand(1, 20, WIDTH)
    torch.testing.assert_close(compress(compressor, same), same[:, :5])


def test_padding_does_not_matter(compressor):
    features = torch.randn(1, 12, WIDTH)
    torch.testing.assert_close(compress(compressor, features, length=7),
                               compress(compressor, features[:, :7]))


def test_a_value_by_hand():
    """A = [ln 3, 0], features e_1 and e_2: scores [ln 3, 0], weights [3/4, 1/4]."""
    compressor = Compressor(1, 2)
    compressor.queries.data = torch.tensor([[3.0, 1.0]]).log()
    latents = compress(compressor, torch.eye(2)[None])
    torch.testing.assert_close(latents, torch.tensor([[[0.75, 0.25]]]))


def test_a_batch_without_pictures_still_reaches_the_queries(compressor):
    """Their gradient is 0, not None: workers that average gradients must agree on what there is."""
    compress(compressor, torch.randn(0, 0, WIDTH)).sum().backward()
    assert compressor.queries.grad is not None and not compressor.queries.grad.any()
