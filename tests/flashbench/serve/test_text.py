"""Streaming text: pieces never need to be taken back, and together they are the whole."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from flashbench.serve.text import INCOMPLETE, TextStream


def decode_bytes(ids):
    """A byte-level vocabulary, the hardest case: every token is one byte."""
    return bytes(ids).decode("utf-8", errors="replace")


def pieces(chunks):
    stream = TextStream(decode_bytes)
    return [*(stream.push(chunk) for chunk in chunks), stream.finish()]


def test_half_a_character_is_held_back():
    assert pieces(["né".encode()[:2], "né".encode()[2:]]) == ["n", "é", ""]


def test_an_emoji_in_four_rounds_comes_out_once():
    assert pieces([[byte] for byte in "🚀".encode()]) == ["", "", "", "🚀", ""]


def test_what_never_completes_is_told_at_the_end():
    assert pieces([b"a\xf0\x9f"]) == ["a", INCOMPLETE]


@settings(deadline=None)
@given(st.text("aé€🚀 ", max_size=20), st.lists(st.integers(0, 40), max_size=6))
def test_pieces_of_a_text_make_the_text(text, cuts):
    raw = text.encode()
    edges = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    chunks = [raw[start:end] for start, end in pairwise(edges)]
    assert "".join(pieces(chunks)) == text


@settings(deadline=None)
@given(st.lists(st.binary(max_size=5), max_size=8))
def test_pieces_of_any_bytes_make_their_decoding(chunks):
    assert "".join(pieces(chunks)) == decode_bytes(b"".join(chunks))
