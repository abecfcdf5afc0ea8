import torch

from specflash.drafts.collate import add_noise, collate
from tests.drafts.toy import ONE_PICTURE, D, features


def batch():
    return collate([features(20, ONE_PICTURE, ((14, 20),), seed=1), features(8, (), ((4, 8),), seed=2)])


def test_samples_are_padded_on_the_right():
    long, short = features(20, ONE_PICTURE, ((14, 20),), seed=1), features(8, (), ((4, 8),), seed=2)
    made = collate([long, short])
    assert made.lengths.tolist() == [20, 8] and made.spans == (ONE_PICTURE, ())
    assert torch.equal(made.ids[0], long.ids) and torch.equal(made.ids[1, :8], short.ids)
    assert torch.equal(made.features[1, :8], short.features)
    assert not made.ids[1, 8:].any() and not made.features[1, 8:].any() and not made.answer_mask[1, 8:].any()
    assert torch.equal(made.answer_mask[1, :8], short.answer_mask)


def test_noise_is_uniform_within_its_reach_and_leaves_the_targets_alone():
    clean = batch()
    noisy = add_noise(clean, 0.1, torch.Generator().manual_seed(0))
    assert noisy.features is clean.features and noisy.inputs is noisy.noisy
    noise = noisy.inputs - clean.features
    for b, length in enumerate((20, 8)):
        reach = 0.1 * 512 / length
        own = noise[b, :length]
        assert own.abs().max() <= reach + 1e-5
        # Standard deviation of a uniform law on [-r, r] is r/√3; 8·16 draws at least.
        assert abs(own.std() / (reach / 3 ** 0.5) - 1) < 0.25
        assert not noise[b, length:].any()


def test_noise_follows_its_generator():
    a, b, c = (add_noise(batch(), 0.1, torch.Generator().manual_seed(seed)).inputs for seed in (0, 0, 1))
    assert torch.equal(a, b) and not torch.equal(a, c)


def test_moving_a_batch_keeps_everything():
    noisy = add_noise(batch(), 0.1, torch.Generator().manual_seed(0)).to("cpu")
    assert noisy.inputs.shape == (2, 20, D) and noisy.spans == batch().spans
    assert torch.equal(batch().to("cpu").inputs, batch().features)
