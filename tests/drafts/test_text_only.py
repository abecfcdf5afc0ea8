from dataclasses import replace

import torch

from specflash.drafts.anchors import find_anchors
from specflash.drafts.collate import collate
from tests.drafts.toy import NO_PICTURE, ONE_PICTURE, TWO_PICTURES, K, V, draft, features


def data(spans=ONE_PICTURE):
    return collate([features(20, spans, ((13, 20),))])


def test_each_token_is_trained_once_and_judged_once_per_slot():
    made = draft("text-only")
    assert made.train().loss(data()).total.tolist() == [6, 0, 0, 0]
    assert made.eval().loss(data()).total.tolist() == [6, 5, 4, 3]


def test_it_sees_no_picture_and_no_feature():
    made, batch = draft("text-only"), data()
    anchors = find_anchors(batch.answer_mask, K)
    before = made.predict(batch, anchors)
    start, length = ONE_PICTURE[0]
    batch.ids[0, start : start + length] = 7
    batch.features.add_(1)
    assert torch.equal(made.predict(batch, anchors), before)


def test_it_sees_every_token_of_the_text_up_to_its_own():
    made, batch = draft("text-only"), data()
    anchors = find_anchors(batch.answer_mask, K)
    before = made.predict(batch, anchors)
    start, length = ONE_PICTURE[0]
    for place in {*range(20)} - {*range(start, start + length)}:
        ids = batch.ids.clone()
        ids[0, place] = (ids[0, place] + 1) % V
        changed = (made.predict(replace(batch, ids=ids), anchors) != before).any(-1)
        assert torch.equal(changed, anchors.target >= place), place


def test_a_row_is_an_ordinary_language_model_s():
    """Without pictures it is the whole sequence, causally; with them, the text put together."""
    made = draft("text-only")
    for spans in (NO_PICTURE, ONE_PICTURE, TWO_PICTURES):
        batch = data(spans)
        anchors = find_anchors(batch.answer_mask, K)
        visual = {place for start, length in spans for place in range(start, start + length)}
        rows = made.predict(batch, anchors)
        for row, target in zip(rows, anchors.target.tolist(), strict=True):
            text = [place for place in range(target + 1) if place not in visual]
            torch.testing.assert_close(made.stream(batch.ids[:, text])[0, -1], row, rtol=1e-5, atol=1e-5)
