"""Prompt look-up against examples made by hand, and against its definition in plain loops."""

import pytest
import torch

from specflash.drafts.store import make_draft
from specflash.errors import UserError
from specflash.records import Output, Prompt
from specflash.sampling import Sampling
from tests.drafts.toy import D

WALL = 0


def start(ids, spans=(), **settings):
    """A session that has committed `ids`; the last one is the first answer token."""
    asked = torch.tensor([ids[:-1]])
    prompt = Prompt(asked, {}, spans, torch.zeros_like(asked, dtype=torch.bool))
    made = make_draft("ngram", settings, D)
    return made.start(prompt, Output(torch.zeros(1, len(ids) - 1, D), torch.empty(0)), ids[-1], capacity=99)


def drafted(session, limit: int = 9) -> list[int]:
    proposal = session.propose(Sampling(temperature=1.0), None, limit)
    assert proposal.q is None and proposal.tokens.dtype == torch.int64
    return proposal.tokens.tolist()


@pytest.mark.parametrize(("ids", "settings", "expected"), [
    ([1, 2, 9, 4, 1, 2], {"k": 3}, [9, 4, 1]),
    ([1, 2, 9, 4, 1, 2], {"k": 1}, [9]),
    ([1, 2, 9, 4, 1, 2], {"k": 9}, [9, 4, 1, 2]),                           # no more has followed
    ([1, 2, 7, 3, 2, 8, 1, 2], {"k": 3, "max_ngram": 2}, [7, 3, 2]),        # the longest match
    ([1, 2, 7, 3, 2, 8, 1, 2], {"k": 3, "max_ngram": 1}, [8, 1, 2]),
    ([1, 2, 7, 1, 2, 8, 1, 2], {"k": 3}, [8, 1, 2]),                        # the last of two
    ([5, 5], {}, [5]),
    ([1, 2, 3], {}, []),
])
def test_what_followed_the_last_longest_match_is_drafted(ids, settings, expected):
    assert drafted(start(ids, **settings)) == expected


@pytest.mark.parametrize(("ids", "spans", "expected"), [
    ([1, 2, WALL, WALL, WALL, 1, 2], ((2, 3),), []),               # only a picture has followed
    ([4, 6, WALL, WALL, 6, 4], ((2, 2),), [6]),                    # the draft ends before it
    ([7, 1, 8, WALL, 1, 2, WALL, 1], ((3, 1), (6, 1)), [2]),       # (picture, 1) is no pair
    ([WALL, WALL, 4, 9, 3, 4], ((0, 2),), [9, 3, 4]),
])
def test_placeholders_are_neither_matched_nor_drafted(ids, spans, expected):
    assert drafted(start(ids, spans)) == expected


def test_a_placeholder_in_the_answer_is_one_too():
    session = start([4, 9, WALL, 5, 4], ((2, 1),))
    assert drafted(session) == [9]
    session.advance(torch.tensor([WALL]), torch.zeros(1, D))
    assert drafted(session) == []
    session.advance(torch.tensor([4]), torch.zeros(1, D))
    assert drafted(session) == [9]  # what follows the other 4 is the placeholder


@pytest.mark.parametrize(("limit", "expected"), [(-1, []), (0, []), (2, [9, 4])])
def test_no_more_is_drafted_than_asked_for(limit, expected):
    assert drafted(start([1, 2, 9, 4, 1, 2]), limit) == expected


def by_definition(text: list[int], k: int, max_ngram: int) -> list[int]:
    for n in range(min(max_ngram, len(text)), 0, -1):
        ending = text[-n:]
        for place in range(len(text) - n - 1, -1, -1):
            follows = text[place + n :]
            if text[place : place + n] == ending and WALL not in ending and follows[0] != WALL:
                run = follows[:k]
                return run[: run.index(WALL)] if WALL in run else run
    return []


@pytest.mark.parametrize("max_ngram", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_it_equals_its_definition_after_any_pattern_of_acceptance(seed, max_ngram):
    generator = torch.Generator().manual_seed(seed)
    text = [WALL, *torch.randint(0, 4, (60,), generator=generator).tolist(), 3]
    done, found = 12, 0
    session = start(text[:done], ((0, 1),), k=3, max_ngram=max_ngram)
    while done < len(text):
        expected = by_definition(text[:done], 3, max_ngram)
        assert drafted(session) == drafted(session) == expected
        found += len(expected)
        n = int(torch.randint(1, 5, (1,), generator=generator))
        session.advance(torch.tensor(text[done : done + n]), torch.zeros(n, D))
        done += n
    assert found > 10


@pytest.mark.parametrize("settings", [{"vocabulary": 5}, {"sampled": True}, {"max_ngram": 0}, {"latents": 3}])
def test_settings_without_a_meaning_are_refused(settings):
    with pytest.raises(UserError, match=f"draft `ngram`: `{next(iter(settings))}`"):
        make_draft("ngram", settings, D)


def test_there_is_nothing_to_train():
    made = make_draft("ngram", {}, D)
    assert not made.trainable and not list(made.parameters())
