import pytest
import torch

from specflash.drafts.anchors import find_anchors
from specflash.drafts.collate import collate
from specflash.drafts.store import make_draft
from specflash.sampling import Sampling
from tests.drafts.toy import ONE_PICTURE, SETTINGS, D, K, draft, ends, features, open_session


def data():
    return collate([features(20, ONE_PICTURE, ((13, 20),))])


def test_it_trains_one_step_and_is_judged_on_the_whole_chain():
    made = draft("eagle")
    assert made.train().loss(data()).total.tolist() == [6, 0, 0, 0]
    assert made.eval().loss(data()).total.tolist() == [6, 5, 4, 3]


def test_every_visual_position_matters():
    """No compression: each visual feature has its own part in the drafted one."""
    made, batch = draft("eagle"), data()
    anchors = find_anchors(batch.answer_mask, 1)
    before = made.predict(batch, anchors)
    start, length = ONE_PICTURE[0]
    for position in range(start, start + length):
        batch.features[0, position] += 1
        assert (made.predict(batch, anchors) != before).any(-1).all()
        batch.features[0, position] -= 1


def test_the_chain_is_autoregressive_in_tokens_too():
    """Another first drafted token gives other drafted features after it."""
    made, batch = draft("eagle"), data()
    anchors = find_anchors(batch.answer_mask, K)
    at = (anchors.target - 1 - anchors.slot) == 12  # the first anchor's slots: tokens 14, 15, …
    before = made.predict(batch, anchors)[at]
    batch.ids[0, 14] = (batch.ids[0, 14] + 1) % 40
    changed = (made.predict(batch, anchors)[at] != before).any(-1)
    assert changed.tolist() == [False, True, True, True]


@pytest.mark.parametrize("name", ["eagle", "eagle-vlm"])
def test_it_starts_from_the_last_feature(name):
    torch.manual_seed(0)
    settings = {**SETTINGS[name], "input_norm": False}
    made = make_draft(name, settings, D).attach(ends()).eval()
    sample = features(20, ONE_PICTURE)
    with torch.inference_mode():
        token = open_session(made, sample, 15).propose(Sampling(), None, 1).tokens
    assert token == made.ends.head(sample.features[14]).argmax()


def test_the_three_forms_differ_in_where_they_normalise():
    """`eagle` before the fusion, `eagle-vlm` before attention, EAGLE's own form at neither place."""
    norms = {name: [part for part, module in made.named_modules() if isinstance(module, torch.nn.RMSNorm)]
             for name, made in (("eagle", draft("eagle")), ("paper", draft("eagle", input_norm=False)),
                                ("eagle-vlm", draft("eagle-vlm")))}
    assert norms == {"eagle": ["embedding_norm", "feature_norm", "block.feed_norm"], "paper": ["block.feed_norm"],
                     "eagle-vlm": ["block.attention_norm", "block.feed_norm"]}
