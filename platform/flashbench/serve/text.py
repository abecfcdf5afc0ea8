"""Text from growing token ids, emitted only where it is final. It knows no tokenizer of its own."""

from collections.abc import Callable, Sequence

INCOMPLETE = "\ufffd"
"""What decoding shows for bytes that are no character; at the end of a text, not one yet."""


class TextStream:
    """Cuts the text of one answer into pieces: together they are `decode` of all its ids.

    decode  text of token ids; more ids never change its earlier characters, except for a tail
            of INCOMPLETE (tokens of byte-level vocabularies may end inside a character)
    """

    def __init__(self, decode: Callable[[Sequence[int]], str]):
        self._decode = decode
        self._ids: list[int] = []
        self._emitted = 0

    def push(self, ids: Sequence[int]) -> str:
        """The characters that became certain with these ids; may be empty."""
        self._ids.extend(ids)
        return self._cut(self._decode(self._ids).rstrip(INCOMPLETE))

    def finish(self) -> str:
        """What was held back."""
        return self._cut(self._decode(self._ids))

    def _cut(self, text: str) -> str:
        piece = text[self._emitted:]
        self._emitted += len(piece)
        return piece
