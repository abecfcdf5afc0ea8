"""The base form is `specflash` without refinement, and has no setting of it."""

import pytest
import torch

from specflash.drafts.anchors import find_anchors
from specflash.drafts.collate import collate
from specflash.drafts.store import make_draft
from specflash.errors import UserError
from specflash.sampling import Sampling
from tests.drafts.toy import ONE_PICTURE, D, K, draft, features, open_session

REFINED = ("refine", "refine_inner", "own_words", "own_words_after")


def test_it_is_specflash_without_refinement_to_the_last_bit():
    base, other = draft("specflash-base"), draft("specflash", refine=False)
    assert base.state_dict().keys() == other.state_dict().keys()
    batch = collate([features(24, ONE_PICTURE, ((13, 24),))])
    anchors = find_anchors(batch.answer_mask, K)
    with torch.inference_mode():
        assert torch.equal(base.predict(batch, anchors), other.predict(batch, anchors))
        tokens = [open_session(each, features(24, ONE_PICTURE), 15).propose(Sampling(), None, K).tokens
                  for each in (base, other)]
    assert torch.equal(*tokens)


def test_the_two_forms_differ_in_refinement_only():
    base, final = make_draft("specflash-base", {}, 64), make_draft("specflash", {}, 64)
    more = final.state_dict().keys() - base.state_dict().keys()
    assert more and all(name.startswith("refiner.") for name in more)
    assert not base.state_dict().keys() - final.state_dict().keys()
    settings = final.config.model_dump()
    assert base.config.model_dump() == {name: value for name, value in settings.items() if name not in REFINED}


def test_how_far_its_training_is_changes_nothing():
    batch, losses = collate([features(24, ONE_PICTURE, ((13, 24),))]), []
    made = draft("specflash-base").train()
    for over in (0.0, 1.0):
        made.note_progress(over)
        torch.manual_seed(0)
        losses.append(made.loss(batch).loss)
    assert torch.equal(*losses)


@pytest.mark.parametrize("key", REFINED)
def test_a_setting_of_refinement_is_refused_on_one_line(key):
    with pytest.raises(UserError, match=f"draft `specflash-base`: `{key}`: ") as caught:
        make_draft("specflash-base", {key: 0}, D)
    assert "\n" not in str(caught.value)
