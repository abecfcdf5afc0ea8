import pytest
import torch
import torch.nn.functional as F

from specflash.drafts.anchors import find_anchors
from specflash.drafts.collate import collate
from specflash.drafts.store import make_draft
from specflash.sampling import Sampling
from tests.drafts.toy import ONE_PICTURE, D, K, draft, ends, features, open_session


def data():
    return collate([features(20, ONE_PICTURE, ((13, 20),))])


def test_every_head_starts_as_the_target_s_own():
    made = make_draft("medusa", {"layers": 2}, D).attach(ends()).eval()
    sample = features(20, ONE_PICTURE)
    with torch.inference_mode():
        tokens = open_session(made, sample, 15).propose(Sampling(), None, K).tokens
    assert tokens.tolist() == [int(made.ends.head(sample.features[14]).argmax())] * K


@pytest.mark.parametrize("layers", [1, 2])
def test_a_row_is_the_formula_of_its_slot_and_its_base(layers):
    made, batch = draft("medusa", layers=layers), data()
    anchors = find_anchors(batch.answer_mask, K)
    base = anchors.target - 1 - anchors.slot
    for row, slot, t in zip(made.predict(batch, anchors), anchors.slot, base, strict=True):
        head, r = made.heads[int(slot)], batch.features[0, t]
        for layer in head.residual:
            r = r + F.silu(layer.weight @ r + layer.bias)
        torch.testing.assert_close(row, head.last.weight @ r)


def test_a_slot_counts_by_its_place():
    """With weights 0.5^i the loss is that of the slots alone, so weighted and averaged."""
    made, batch = draft("medusa", decay=0.5), data()
    anchors = find_anchors(batch.answer_mask, K)
    rows = made.predict(batch, anchors)
    p = made.ends.head(batch.features[anchors.sample, anchors.target]).softmax(-1)
    entropy = -(p * made.ends.head(rows).log_softmax(-1)).sum(-1)
    by_slot = [entropy[anchors.slot == slot].sum() * 0.5 ** slot for slot in range(K)]
    parts = made.loss(batch)
    torch.testing.assert_close(parts.loss, sum(by_slot) / len(rows))
    assert parts.total.tolist() == [6, 5, 4, 3]


def test_it_reads_the_last_committed_feature_and_nothing_else():
    made, sample = draft("medusa"), features(20, ONE_PICTURE)
    with torch.inference_mode():
        session = open_session(made, sample, 15)
        session.advance(sample.ids[16:18], sample.features[15:17])
        tokens = session.propose(Sampling(), None, K).tokens
    assert torch.equal(tokens, made.ends.head(made.slots(sample.features[16])).argmax(-1))
