import torch

from specflash.drafts.anchors import find_anchors, thin, trained_slots


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


def test_thinning_keeps_slot_0_and_ever_fewer_rows_of_later_slots():
    torch.manual_seed(0)
    anchors = find_anchors(torch.ones(4, 400, dtype=torch.bool), 4)
    kept = thin(anchors, 0.5)
    shares = torch.bincount(kept.slot, minlength=4) / torch.bincount(anchors.slot, minlength=4)
    assert shares[0] == 1
    torch.testing.assert_close(shares, torch.tensor([1, 0.5, 0.25, 0.125]), atol=0.04, rtol=0)
    assert not (kept.valid & ~anchors.valid).any()
    assert torch.equal(kept.valid.nonzero()[:, [0, 2]], torch.stack([kept.sample, kept.slot], 1))
    bases = anchors.bases[kept.sample, kept.valid.nonzero()[:, 1]]
    assert torch.equal(kept.target, bases + 1 + kept.slot)


def test_thinning_keeps_a_slot_only_with_all_slots_before_it():
    torch.manual_seed(0)
    kept = thin(find_anchors(torch.ones(2, 50, dtype=torch.bool), 5), 0.6).valid
    assert torch.equal(kept, kept.cumprod(-1).bool())
    assert {int(row.sum()) for row in kept.flatten(0, 1)} == {1, 2, 3, 4, 5}


def test_thinning_by_nothing_changes_nothing():
    anchors = find_anchors(torch.ones(1, 30, dtype=torch.bool), 3)
    assert torch.equal(thin(anchors, 1.0).valid, anchors.valid)
