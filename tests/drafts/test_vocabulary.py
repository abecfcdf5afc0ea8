import pytest
import torch

from specflash.drafts.vocabulary import frequent_ids
from specflash.errors import UserError


def test_most_frequent_first_and_the_ends_always():
    answers = [torch.tensor([7, 7, 7, 3]), torch.tensor([3, 9, 3, 3])]
    assert frequent_ids(answers, 3, 10, end_ids=[5]).tolist() == [5, 3, 7]


def test_ties_and_gaps_are_filled_from_below():
    assert frequent_ids([torch.tensor([8])], 4, 10, end_ids=[8]).tolist() == [8, 0, 1, 2]


def test_more_than_the_target_has_is_refused():
    with pytest.raises(UserError, match="draft vocabulary of 11 exceeds the target's 10"):
        frequent_ids([], 11, 10, end_ids=[0])
