"""Trees of drafted tokens as their parents tell them, and the way down."""

import pytest
import torch

from specflash.trees import ancestors, depths, follow

TREE = (-1, 0, 1, -1, 3, 3)
"""d0 d1 d2 one path; d3 another first token, with two children."""


def test_depths_count_from_the_pending_token():
    assert depths(TREE) == [0, 1, 2, 3, 1, 2, 2]
    assert depths(()) == [0]


def test_a_row_sees_itself_and_what_it_follows():
    seen = [row.nonzero().flatten().tolist() for row in ancestors(TREE)]
    assert seen == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 4], [0, 4, 5], [0, 4, 6]]


def test_a_chain_is_the_tree_with_one_path():
    assert torch.equal(ancestors((-1, 0, 1)), torch.ones(4, 4, dtype=torch.bool).tril())
    assert depths((-1, 0, 1)) == [0, 1, 2, 3]


@pytest.mark.parametrize(("said", "path", "token"), [
    ({0: 7}, [], 7),
    ({0: 1, 1: 7}, [0], 7),
    ({0: 4, 4: 6, 6: 9}, [3, 5], 9),
    ({0: 1, 1: 2, 2: 3, 3: 3}, [0, 1, 2], 3),
])
def test_the_target_s_own_tokens_lead_the_way_and_only_rows_on_it_are_asked(said, path, token):
    asked = []
    tokens = [1, 2, 3, 4, 5, 6]

    def say(row):
        asked.append(row)
        return said[row]

    assert follow(tokens, TREE, say) == (path, token)
    assert asked == list(said)
