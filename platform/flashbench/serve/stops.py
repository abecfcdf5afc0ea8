"""Where an answer is cut: stop strings, over a text that comes in pieces. It knows no model."""

from collections.abc import Callable, Sequence

from flashbench.serve.text import TextStream


class StopText:
    """Lets a text through up to the first stop string, which may lie across pieces.

    Of several strings the one that is complete first counts, and of two complete at once the longer, so
    that how the text is cut into pieces changes nothing.
    """

    def __init__(self, stops: Sequence[str]):
        self._stops = stops
        self._held = ""
        self.found = False

    def push(self, piece: str) -> str:
        """What is certain to stand before any stop string; may be empty."""
        text = self._held + piece
        places = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if places:
            self.found, self._held = True, ""
            return text[:min(places)[1]]
        self._held = text[len(text) - self._possible(text):]
        return text[:len(text) - len(self._held)]

    def finish(self) -> str:
        """What was held back and has turned out to be the beginning of no stop string."""
        return self._held

    def _possible(self, text: str) -> int:
        """Characters at the end of `text` with which a stop string may have begun."""
        return max((length for stop in self._stops for length in range(1, min(len(stop), len(text) + 1))
                    if text.endswith(stop[:length])), default=0)


class Words:
    """The text of growing token ids, final as soon as it is told, and cut at the first stop string."""

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str]):
        self._text = TextStream(decode)
        self._stops = StopText(stops)

    @property
    def stopped(self) -> bool:
        return self._stops.found

    def push(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The text that each token made certain, up to the one with which a stop string was complete.

        Token by token: whoever commits how many in a round, an answer ends with the same one.
        """
        pieces = []
        for token in ids:
            pieces.append(self._stops.push(self._text.push([token])))
            if self.stopped:
                break
        return tuple(pieces)

    def finish(self) -> str:
        """What was held back; after a stop string nothing."""
        return "" if self.stopped else self._stops.push(self._text.finish()) + self._stops.finish()
