import torch

from specflash.drafts.anchors import find_anchors, trained_slots


def test_the_toy_of_the_batch_docstring():
    mask = torch.tensor([[0, 0, 0, 1, 1, 1]], dtype=torch.bool)
    rows = trained_slots(mask, 3)[0].nonzero().tolist()
    assert rows == [[2, 0], [2, 1], [3, 0]]


def test_slots_stay_within_one_answer():
    mask = torch.tensor([[0, 1, 1, 1, 0, 1, 1]], dtype=torch.bool)
    rows = trained_slots(mask, 4)[0].nonzero().tolist()
    assert rows == [[0, 0], [0, 1], [1, 0], [4, 0]]


def test_every_row_obeys_the_rule():
    """Slot i at base t: all of x_{t+1} … x_{t+2+i} exist and are answer tokens."""
    mask = torch.rand(3, 20, generator=torch.Generator().manual_seed(0)) < 0.7
    trained = trained_slots(mask, 4)
    for b in range(3):
        for t in range(20):
            for i in range(4):
                needed = mask[b, t + 1 : t + 3 + i]
                assert trained[b, t, i] == (len(needed) == 2 + i and bool(needed.all()))


def test_anchors_are_packed_and_point_at_their_targets():
    mask = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0]], dtype=torch.bool)
    anchors = find_anchors(mask, 2)
    assert anchors.bases.tolist() == [[2, 3], [0, 0], [0, 0]]
    assert anchors.valid.tolist() == [[[True, True], [True, False]], [[True, False], [False, False]],
                                      [[False, False], [False, False]]]
    assert anchors.sample.tolist() == [0, 0, 0, 1]
    assert anchors.slot.tolist() == [0, 1, 0, 0]
    assert anchors.target.tolist() == [3, 4, 4, 1]


def test_a_batch_without_answers_has_no_anchor():
    anchors = find_anchors(torch.zeros(2, 5, dtype=torch.bool), 3)
    assert anchors.bases.shape == (2, 0) and anchors.valid.shape == (2, 0, 3) and len(anchors.slot) == 0
