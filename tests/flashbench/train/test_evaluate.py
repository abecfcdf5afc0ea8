"""Held-out figures from sums: exact values, and independence of how rows were batched."""

import pytest
import torch

from flashbench.train.evaluate import Sums, simulated_accept_length
from specflash.drafts.base import LossParts
from specflash.errors import UserError


def parts(loss: float, correct: list[int], total: list[int]) -> LossParts:
    return LossParts(torch.tensor(loss), sum(total), torch.tensor(correct), torch.tensor(total), {})


def test_loss_is_the_mean_over_rows_and_accuracy_is_per_slot():
    sums = Sums.empty(2, torch.device("cpu"))
    sums.add(parts(1.0, [2, 0], [4, 2]))
    sums.add(parts(4.0, [1, 1], [2, 1]))
    assert sums.loss == pytest.approx((6 * 1.0 + 3 * 4.0) / 9)
    assert sums.slot_accuracy == pytest.approx([3 / 6, 1 / 3])


def test_a_slot_without_rows_counts_as_never_right():
    sums = Sums.empty(2, torch.device("cpu"))
    sums.add(parts(1.0, [1, 0], [2, 0]))
    assert sums.slot_accuracy == [0.5, 0.0]


def test_a_mean_over_no_row_is_refused_and_not_a_number():
    sums = Sums.empty(2, torch.device("cpu"))
    sums.add(parts(0.0, [0, 0], [0, 0]))
    with pytest.raises(UserError, match="dump samples with longer answers"):
        _ = sums.loss


@pytest.mark.parametrize(("accuracy", "length"), [
    ([], 1.0), ([1.0, 1.0, 1.0], 4.0), ([0.0, 1.0], 1.0), ([0.5, 0.5], 1 + 0.5 + 0.25),
    ([0.8, 0.5, 0.25], 1 + 0.8 + 0.4 + 0.1)])
def test_simulated_accept_length_is_one_plus_the_sum_of_products(accuracy, length):
    assert simulated_accept_length(accuracy) == pytest.approx(length)
