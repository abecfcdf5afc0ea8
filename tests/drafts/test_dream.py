"""What DREAM adds to EAGLE: a gate into the target's inner states, in every pass that has them."""

from dataclasses import replace

import pytest
import torch

from specflash.decoding import generate
from specflash.drafts.anchors import find_anchors
from specflash.drafts.collate import add_noise, collate
from specflash.drafts.store import make_draft
from specflash.sampling import Sampling
from tests.decoding.scripted import SAMPLES, greedy
from tests.drafts.toy import NO_PICTURE, ONE_PICTURE, SETTINGS, D, K, draft, features, known, open_session
from tests.tiny import tiny_target

LENGTH, PROMPT = 30, 18


def batch(spans=ONE_PICTURE):
    return collate([features(LENGTH, spans, ((PROMPT, LENGTH),)), features(24, spans, ((20, 24),), seed=1)])


def predict(made, data):
    return made.predict(data, find_anchors(data.answer_mask, K))


@torch.inference_mode()
def test_with_its_gate_shut_it_is_eagle_and_so_it_starts():
    """Where there is no picture; else EAGLE sees all of it."""
    made, eagle = draft("dream"), draft("eagle")
    eagle.load_state_dict({name: made.state_dict()[name] for name in eagle.state_dict()})
    data = batch(NO_PICTURE)
    assert not torch.allclose(predict(made, data), predict(eagle, data), atol=1e-3)
    made.block.gate.zero_()
    torch.testing.assert_close(predict(made, data), predict(eagle, data))
    assert not make_draft("dream", SETTINGS["dream"], D).block.gate.any()


@torch.inference_mode()
def test_a_row_sees_the_inner_states_up_to_its_own_base_and_no_later_ones():
    made, data = draft("dream"), batch()
    anchors = find_anchors(data.answer_mask, 1)
    before = made.predict(data, anchors)
    inner, place = data.inner.clone(), PROMPT + 4
    inner[0, place] += 1
    moved = (made.predict(replace(data, inner=inner), anchors) != before).any(-1)
    seen = (anchors.sample == 0) & (anchors.target - 1 >= place)
    assert torch.equal(moved, seen)
    assert seen.any() and not seen.all()


@torch.inference_mode()
def test_pictures_are_as_short_in_both_memories():
    session = open_session(draft("dream"), features(LENGTH, ONE_PICTURE, ((PROMPT, LENGTH),)), PROMPT)
    session.propose(Sampling(), None, K)  # drafted rows come and go
    stored = session._buffer.stored
    assert stored.k.shape == stored.deep.k.shape
    assert session._buffer.length == PROMPT - ONE_PICTURE[0][1] + 2 * 2  # 9 tokens in 2 × 2 cells


@torch.inference_mode()
def test_noise_does_not_reach_the_inner_states():
    data = batch()
    noisy = add_noise(data, 1.0, torch.Generator().manual_seed(0))
    seen = draft("dream").seen(noisy)
    assert torch.equal(seen[..., D:], data.inner)
    assert torch.equal(seen[..., :D], noisy.noisy)


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tiny_target(tmp_path_factory.mktemp("tiny-llava"))


@pytest.mark.parametrize("nodes", [0, 6])
def test_in_decoding_it_is_given_what_one_pass_over_the_finished_text_gives(target, nodes):
    """Prefill and rounds, chain and tree: row by row features and inner states of layer 0."""
    made = make_draft("dream", SETTINGS["dream"] | {"nodes": nodes}, target.width).attach(target.ends).eval()
    told, start = [], made.start

    def started(prompt, output, *rest):
        told.append(output.rows[0])
        session = start(prompt, output, *rest)
        advance = session.advance
        session.advance = lambda ids, rows: (told.append(rows), advance(ids, rows))
        return session

    made.start = started
    prompt = target.encode(SAMPLES["picture"])
    done = generate(target, made, prompt, greedy())
    rows = torch.cat(told)
    with torch.inference_mode():
        answer = target.embed(torch.tensor([done.ids]))
        embeds = torch.cat([target.embed_prompt(prompt), answer], 1)[:, : len(rows)]
        whole = target.forward(embeds, None, target.positions(prompt, 0, len(rows)), None, 1, inner=0)
    torch.testing.assert_close(rows, whole.rows[0], atol=1e-4, rtol=1e-4)


def test_what_a_draft_is_given_is_as_wide_as_it_asks_for():
    sample = features(LENGTH)
    assert known(draft("eagle"), sample).rows.shape[-1] == D
    assert known(draft("dream"), sample).rows.shape[-1] == 2 * D
