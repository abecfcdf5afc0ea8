"""The decoding loop on a tiny random LLaVA: greedy text, cuts, what the draft is told, streaming."""

import time
import weakref
from dataclasses import replace

import pytest
import torch

from specflash.cache import HEADROOM
from specflash.decoding import Decoding, generate
from specflash.records import PHASES, Proposal
from tests.decoding.scripted import (
    NEW,
    VANILLA,
    Scripted,
    check_account,
    greedy,
    oracle,
    random_mix,
    right_then_wrong,
    unending,
    with_ends,
    wrong,
)

# -- greedy: the same text as vanilla, and vanilla the same as Hugging Face's -----------------------


def test_vanilla_equals_hugging_face_generate(target, prompt):
    done = generate(target, VANILLA, prompt, greedy())
    reference = target.model.generate(input_ids=prompt.ids, attention_mask=torch.ones_like(prompt.ids),
                                      **prompt.pixels, max_new_tokens=NEW, do_sample=False)
    assert done.ids == reference[0, prompt.length:].tolist()
    assert done.drafted == done.kept == [0] * (len(done.ids) - 1)


@pytest.mark.parametrize("k", range(1, 9))
def test_every_draft_gives_the_text_of_vanilla(target, prompt, k):
    text = generate(target, VANILLA, prompt, greedy()).ids
    longer = unending(target, prompt, NEW + 8)
    for script in (oracle(longer), wrong(longer), random_mix(longer, k), right_then_wrong(longer, k // 2)):
        done = generate(target, Scripted(k, script), prompt, greedy())
        assert done.ids == text
        check_account(done, greedy())


@pytest.mark.parametrize("k", range(1, 7))
def test_oracle_has_accept_length_k_plus_one(target, prompt, k):
    rounds = 3
    new = 1 + rounds * (k + 1)
    text = unending(target, prompt, new)
    done = generate(with_ends(target), Scripted(k, oracle(text)), prompt, greedy(new))
    assert done.kept == done.drafted == [k] * rounds
    assert done.committed == [k + 1] * rounds


def test_wrong_draft_advances_one_token_per_pass(target, pictured):
    text = unending(target, pictured)
    done = generate(with_ends(target), Scripted(3, wrong(text + [0] * 8)), pictured, greedy())
    assert done.ids == text
    assert done.kept == [0] * (NEW - 1)


def test_right_then_wrong_keeps_exactly_the_right_ones(target, pictured):
    text = unending(target, pictured, 64)
    done = generate(with_ends(target), Scripted(5, right_then_wrong(text, 2)), pictured, greedy(31))
    assert done.ids == text[:31]
    assert done.kept == [2] * 10


# -- cuts inside a block ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 6])
def test_end_token_inside_a_block_cuts_there(target, prompt, k):
    text = unending(target, prompt)
    for end in text[1:8:2]:
        ended = with_ends(target, end)
        cut = text[: text.index(end) + 1]
        done = generate(ended, Scripted(k, oracle(text + [0] * 8)), prompt, greedy())
        assert (done.ids, done.finish) == (cut, "stop")
        assert done.ids == generate(ended, VANILLA, prompt, greedy()).ids
        check_account(done, greedy())


@pytest.mark.parametrize("k", [1, 6])
def test_an_end_token_cuts_nothing_where_it_is_to_be_ignored(target, pictured, k):
    text = unending(target, pictured)
    on = replace(greedy(), ignore_eos=True)
    done = generate(with_ends(target, *text[:4]), Scripted(k, oracle(text + [0] * 8)), pictured, on)
    assert (done.ids, done.finish) == (text[:NEW], "length")
    check_account(done, on)


def test_kept_counts_before_the_cut_and_committed_after(target, pictured):
    text = unending(target, pictured)
    place = next(place for place in range(2, 7) if text[place] not in text[:place])
    done = generate(with_ends(target, text[place]), Scripted(8, oracle(text)), pictured, greedy())
    assert (done.kept, done.drafted, done.committed) == ([8], [8], [place])


@pytest.mark.parametrize("new", range(1, 9))
def test_limit_inside_a_block_cuts_there(target, pictured, new):
    text = unending(target, pictured)
    done = generate(with_ends(target), Scripted(4, oracle(text)), pictured, greedy(new))
    assert (done.ids, done.finish) == (text[:new], "length")
    check_account(done, greedy(new))


def test_nothing_is_drafted_past_the_limit(target, pictured):
    text = unending(target, pictured)
    done = generate(with_ends(target), Scripted(4, oracle(text)), pictured, greedy(8))
    assert done.drafted == [4, 1]  # 1 + 5 + 2 tokens


def test_a_draft_that_ignores_the_limit_changes_nothing(target, pictured):
    class Eager(Scripted):
        def start(self, prompt, output, token, capacity):
            session = super().start(prompt, output, token, capacity)
            session.propose = lambda sampling, chance, limit: Proposal(
                torch.tensor(self.script(session.committed)[: self.config.k]))
            return session

    text = unending(target, pictured)
    done = generate(with_ends(target), Eager(4, oracle(text)), pictured, greedy(8))
    assert (done.ids, done.kept, done.committed) == (text[:8], [4, 4], [5, 2])


def test_first_token_may_end_the_answer(target, pictured):
    first = unending(target, pictured)[0]
    draft = Scripted(4, oracle([]))
    done = generate(with_ends(target, first), draft, pictured, greedy())
    assert (done.ids, done.finish, done.kept, done.committed) == ([first], "stop", [], [])
    assert not draft.sessions  # no draft prefill for nothing


def test_one_token_may_be_all_that_is_asked_for(target, pictured):
    done = generate(with_ends(target), Scripted(4, oracle([])), pictured, greedy(1))
    assert (done.ids, done.finish) == (unending(target, pictured)[:1], "length")


# -- what the draft is told -------------------------------------------------------------------------


def test_draft_gets_the_feature_that_precedes_each_committed_token(target, prompt):
    """All features, prefill and rounds, equal those of one pass over the finished text."""
    text = unending(target, prompt, 40)
    draft = Scripted(4, random_mix(text, seed=1))
    done = generate(with_ends(target), draft, prompt, greedy())
    session = draft.sessions[0]
    told = torch.cat(session.features)                      # h of x_0 … of the one before the pending
    with torch.inference_mode():
        answer = target.embed(torch.tensor([session.committed[:-1]]))
        whole = torch.cat([target.embed_prompt(prompt), answer], 1)
        features = target.forward(whole, None, target.positions(prompt, 0, whole.shape[1]), None, 1).features[0]
    assert session.committed == done.ids[: len(session.committed)]
    torch.testing.assert_close(told, features, atol=1e-4, rtol=1e-4)


def test_capacity_covers_every_position_of_the_request(target, pictured):
    capacities = []

    class Asked(Scripted):
        def start(self, prompt, output, token, capacity):
            capacities.append(capacity)
            return super().start(prompt, output, token, capacity)

    for k in (1, 6):
        generate(target, Asked(k, oracle([])), pictured, greedy())
    assert capacities[0] == capacities[1] >= pictured.length + NEW + HEADROOM

# -- streaming ----------------------------------------------------------------------------------------


def test_text_and_phases_of_the_stream_equal_the_whole(target, pictured):
    text = unending(target, pictured)
    draft = Scripted(3, random_mix(text + [0] * 8, seed=2))
    decoding = Decoding(with_ends(target), draft, pictured, greedy())
    items = list(decoding)
    done = decoding.generation
    assert [token for item in items for token in item] == done.ids == text
    assert [len(item) for item in items] == [1, *done.committed]
    assert set(done.seconds) == set(PHASES)
    assert all(done.seconds[phase] > 0 for phase in PHASES)


def test_closing_ends_early_and_frees_the_cache(target, pictured):
    caches = []
    spy = with_ends(target)
    spy.new_cache = lambda length: caches.append(weakref.ref(cache := target.new_cache(length))) or cache
    decoding = Decoding(spy, VANILLA, pictured, greedy())
    assert len(next(decoding)) == len(next(decoding)) == 1
    assert caches[0]() is not None
    decoding.close()
    assert caches[0]() is None
    assert list(decoding) == []
    assert decoding.generation.ids == unending(target, pictured)[:2]


def test_exhausted_decoding_holds_no_cache(target, pictured):
    caches = []
    spy = with_ends(target)
    spy.new_cache = lambda length: caches.append(weakref.ref(cache := target.new_cache(length))) or cache
    decoding = Decoding(spy, VANILLA, pictured, greedy(3))
    assert len(list(decoding)) == 3
    assert caches[0]() is None


def test_time_between_the_rounds_is_nobodys(target, pictured):
    decoding = Decoding(with_ends(target), VANILLA, pictured, greedy(3))
    begin = time.perf_counter()
    for _ in decoding:
        time.sleep(0.2)
    assert sum(decoding.generation.seconds.values()) <= time.perf_counter() - begin - 0.6


def test_inference_mode_does_not_leak_to_the_consumer(target, pictured):
    for _ in Decoding(target, VANILLA, pictured, greedy(3)):
        assert not torch.is_inference_mode_enabled()
