"""One order on a tiny target: which events, in which order, with which numbers."""

from dataclasses import replace

import pytest

from flashbench.serve.decode import answer
from flashbench.serve.events import Committed, Finished, Order, Refused, Started
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla, VanillaConfig
from specflash.sampling import Sampling
from tests.tiny import make_sample, picture, tiny_target

LIMIT = 200


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tiny_target(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def draft(target):
    return Vanilla(VanillaConfig(width=target.width)).attach(target.ends)


def test_events_tell_the_same_story_as_generate(target, draft):
    order = Order(make_sample("What is it?"), Sampling(max_new_tokens=12))
    prompt = target.encode(order.sample)
    expected = generate(target, draft, prompt, order.sampling)
    started, *rounds, finished = answer(target, draft, order, LIMIT)
    assert started == Started(prompt.length)
    assert all(isinstance(event, Committed) for event in rounds)
    assert [token for event in rounds for token in event.ids] == expected.ids
    assert "".join(event.text for event in [*rounds, finished]) == target.decode(expected.ids)
    assert all("".join(event.pieces) == event.text and len(event.pieces) == len(event.ids) for event in rounds)
    assert isinstance(finished, Finished)
    assert (finished.finish, finished.committed) == (expected.finish, tuple(expected.committed))


def test_the_prefills_token_is_in_no_round(target, draft):
    order = Order(make_sample(), Sampling(max_new_tokens=3))
    _, first, *_, finished = answer(target, draft, order, LIMIT)
    assert (len(first.ids), first.drafted, first.kept) == (1, 0, 0)
    assert sum(finished.committed) == 2


def test_a_picture_that_is_none_is_refused_before_anything_is_decoded(target, draft):
    order = Order(make_sample(media=(picture()[:60],)), Sampling(max_new_tokens=3))
    (event,) = answer(target, draft, order, LIMIT)
    assert isinstance(event, Refused)
    assert event.code == "invalid_prompt"
    assert "\n" not in event.message


def test_a_prompt_that_is_too_long_is_refused_with_its_length(target, draft):
    order = Order(make_sample("x" * 300), Sampling(max_new_tokens=3))
    length = target.encode(order.sample).length
    assert list(answer(target, draft, order, LIMIT)) == [Refused(
        f"the prompt has {length} tokens (pictures included); at most 200 are accepted", "context_length_exceeded")]


def test_a_prompt_that_is_far_too_long_is_refused_unread(target, draft, monkeypatch):
    monkeypatch.setattr(target, "encode", lambda sample: pytest.fail("it was tokenised"))
    order = Order(make_sample("x" * (64 * LIMIT + 1)), Sampling(max_new_tokens=3))
    (event,) = answer(target, draft, order, LIMIT)
    assert event.code == "context_length_exceeded"
    assert "12801 characters" in event.message


def test_what_the_target_has_no_positions_for_is_refused_before_anything_is_decoded(target, draft, monkeypatch):
    order = Order(make_sample(), Sampling(max_new_tokens=20))
    length = target.encode(order.sample).length
    monkeypatch.setattr(target, "context", length + 19)
    (event,) = answer(target, draft, order, LIMIT)
    assert event.code == "context_length_exceeded"
    assert f"{length} tokens (pictures included) and 20 new ones" in event.message
    monkeypatch.setattr(target, "context", length + 20)
    assert isinstance(next(answer(target, draft, order, LIMIT)), Started)


def test_closing_early_decodes_no_further(target, draft):
    events = answer(target, draft, Order(make_sample(), Sampling(max_new_tokens=100)), LIMIT)
    assert isinstance(next(events), Started)
    assert isinstance(next(events), Committed)
    events.close()
    with pytest.raises(StopIteration):
        next(events)


@pytest.mark.parametrize("length", [1, 2])
def test_a_stop_string_cuts_the_text_and_ends_the_generation_within_its_round(target, draft, length):
    order = Order(make_sample("What is it?"), Sampling(max_new_tokens=12))
    whole = generate(target, draft, target.encode(order.sample), order.sampling)
    text = target.decode(whole.ids)
    stop = text[4:4 + length]
    _, *rounds, finished = answer(target, draft, replace(order, stop=(stop, "never said")), LIMIT)
    assert "".join(event.text for event in [*rounds, finished]) == text[:text.index(stop)]
    ids = [token for event in rounds for token in event.ids]
    assert ids == whole.ids[:len(ids)]
    assert stop in target.decode(ids)
    assert stop not in target.decode(ids[:-1])
    assert (finished.finish, 1 + sum(finished.committed)) == ("stop", len(ids))


def test_a_stop_string_that_is_never_said_changes_nothing(target, draft):
    order = Order(make_sample("What is it?"), Sampling(max_new_tokens=12))
    *_, expected = answer(target, draft, order, LIMIT)
    events = list(answer(target, draft, replace(order, stop=("never said",)), LIMIT))
    assert (events[-1].finish, events[-1].committed) == (expected.finish, expected.committed)
    plain = list(answer(target, draft, order, LIMIT))
    assert "".join(event.text for event in events[1:]) == "".join(event.text for event in plain[1:])
