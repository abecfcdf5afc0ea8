"""Stop strings: the text before the first of them, and nothing that would have to be taken back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashbench.serve.stops import StopText, Words


def told(stops, *pieces):
    """What each push lets through, and what the end does."""
    text, said = StopText(stops), []
    for piece in pieces:
        said.append(text.push(piece))
        if text.found:
            return said
    return [*said, text.finish()]


@pytest.mark.parametrize(("stops", "pieces", "expected"), [
    (["."], ["A cat. A dog."], ["A cat"]),
    (["END"], ["A E", "N", "D x"], ["A ", "", ""]),
    (["END"], ["A E", "NT"], ["A ", "ENT", ""]),
    (["END"], ["A EN"], ["A ", "EN"]),
    (["aab"], ["a", "a", "a", "b"], ["", "", "a", ""]),
    (["abcdef", "cd"], ["xabcdef"], ["xab"]),
    (["bc", "abc"], ["xabc"], ["x"]),
    (["\n\n"], ["one\n", "\ntwo"], ["one", ""]),
])
def test_text_that_may_begin_a_stop_string_is_held_back(stops, pieces, expected):
    assert told(stops, *pieces) == expected


def reference(stops, text) -> str:
    """The text before the stop string that is complete first, and is the longest of those."""
    ends = [(end, end - len(stop)) for end in range(len(text) + 1) for stop in stops if text[:end].endswith(stop)]
    return text[:min(ends)[1]] if ends else text


@settings(deadline=None)
@given(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4),
       st.lists(st.text("abc", max_size=4), max_size=8))
def test_how_a_text_is_cut_into_pieces_changes_nothing(stops, pieces):
    assert "".join(told(stops, *pieces)) == reference(stops, "".join(pieces))


@settings(deadline=None)
@given(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4), st.text("abc", max_size=12),
       st.lists(st.integers(1, 5), max_size=12))
def test_an_answer_ends_with_the_same_token_whatever_a_round_commits(stops, text, rounds):
    ids = [ord(letter) for letter in text]

    def answer(sizes):
        words, taken, said, left = Words(lambda ids: "".join(map(chr, ids)), stops), 0, "", ids
        for size in [*sizes, *[1] * len(ids)]:
            if words.stopped or not left:
                break
            pieces = words.push(left[:size])
            taken, said, left = taken + len(pieces), said + "".join(pieces), left[size:]
        return taken, said + words.finish()

    assert answer(rounds) == answer([])
    assert answer(rounds)[1] == reference(stops, text)
