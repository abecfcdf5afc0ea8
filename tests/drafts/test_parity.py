"""What is trained is what is served: the same features from the loss path and from a session."""

import pytest
import torch

from specflash.drafts.anchors import find_anchors
from specflash.drafts.collate import collate
from specflash.sampling import Sampling
from tests.drafts.toy import NO_PICTURE, ONE_PICTURE, TWO_PICTURES, K, draft, features, follow, known, open_session

LENGTH, PROMPT = 40, 18

VARIANTS = [("specflash", {}), ("specflash", {"layers": 2}), ("specflash", {"input_norm": False}),
            ("specflash", {"fuse_prefix": False}), ("specflash", {"k": 1}),
            ("specflash", {"refine": False}), ("specflash", {"refine_inner": 5}), ("specflash-base", {}),
            ("eagle", {}), ("eagle", {"k": 2}), ("eagle", {"input_norm": False}),
            ("eagle-vlm", {}), ("specvlm", {}), ("specvlm", {"fusion": "weighted"}), ("specvlm", {"fusion": "concat"}),
            ("dream", {}), ("dream", {"pool": 1}), ("dream", {"input_norm": False}),
            ("medusa", {}), ("medusa", {"layers": 2}), ("text-only", {}), ("text-only", {"layers": 1, "k": 2})]

SPANS = [NO_PICTURE, ONE_PICTURE, TWO_PICTURES]

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def rounds(seed: int):
    """Committed tokens after each round of a random acceptance pattern, until the sample's end."""
    generator, committed = torch.Generator().manual_seed(seed), PROMPT + 1
    while committed < LENGTH:
        yield committed
        committed += int(torch.randint(1, K + 2, (1,), generator=generator))


def serve(made, sample, seed: int) -> dict[int, torch.Tensor]:
    """Drafted features [K, D] by base, from a session that commits the sample's own tokens."""
    by_base, session, done = {}, open_session(made, sample, PROMPT), PROMPT + 1
    for committed in rounds(seed):
        if committed > done:
            session.advance(sample.ids[done:committed], known(made, sample).rows[0, done - 1 : committed - 1])
        done = made.committed = committed
        seen = follow(made, sample)
        session.propose(Sampling(), None, made.config.k)
        by_base[committed - 2] = torch.cat(seen)
    return by_base


@pytest.mark.parametrize("name, settings", VARIANTS)
@pytest.mark.parametrize("spans", SPANS)
def test_loss_path_and_session_agree(name, settings, spans):
    made = draft(name, **settings)
    sample = features(LENGTH, spans, ((PROMPT, LENGTH),))
    # A longer neighbour, so that the sample is padded; it must not matter.
    batch = collate([sample, features(LENGTH + 7, ONE_PICTURE, ((30, 45),), seed=9)])
    anchors = find_anchors(batch.answer_mask, made.config.k)
    with torch.inference_mode():
        trained = made.predict(batch, anchors)
        by_base = serve(made, sample, seed=len(spans))
    compared = 0
    for row, b, slot, target in zip(trained, anchors.sample, anchors.slot, anchors.target, strict=True):
        base = int(target - 1 - slot)
        if b == 0 and base in by_base:
            torch.testing.assert_close(by_base[base][slot], row, **CLOSE)
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("name, settings", VARIANTS)
@pytest.mark.parametrize("spans", SPANS)
def test_cached_drafting_equals_drafting_from_scratch(name, settings, spans):
    """After any pattern of acceptance: as if everything committed had been the prompt."""
    made = draft(name, **settings)
    sample = features(LENGTH, spans, ((PROMPT, LENGTH),))
    with torch.inference_mode():
        for base, drafted in serve(made, sample, seed=3).items():
            made.committed, seen = base + 2, follow(made, sample)
            open_session(made, sample, base + 1).propose(Sampling(), None, made.config.k)
            torch.testing.assert_close(drafted, torch.cat(seen), **CLOSE)


def test_the_pictures_matter():
    made = draft("specflash")
    sample = features(LENGTH, ONE_PICTURE, ((PROMPT, LENGTH),))
    with torch.inference_mode():
        before = serve(made, sample, seed=0)[PROMPT - 1]
        sample.features[5] += 1
        assert (serve(made, sample, seed=0)[PROMPT - 1] != before).any()
