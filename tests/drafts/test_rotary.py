import math

import torch

from specflash.drafts.rotary import rotate, turn


def test_a_value_by_hand():
    """One pair of width 2 has frequency 1: position p turns it by p radians."""
    turned = rotate(torch.tensor([[1.0, 0.0]]), turn(torch.tensor([2]), 2, torch.float32))
    torch.testing.assert_close(turned, torch.tensor([[math.cos(2), math.sin(2)]]))


def test_scores_depend_on_the_distance_only():
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    scores = [rotate(q, turn(torch.tensor(p + 3), 8, torch.float32))
              @ rotate(k, turn(torch.tensor(p), 8, torch.float32)) for p in (0, 5, 90)]
    torch.testing.assert_close(scores[0], scores[1])
    torch.testing.assert_close(scores[0], scores[2], rtol=1e-4, atol=1e-4)
