"""A result to compare: per method and prompt, the seconds it took, the tokens it gave and what it answered.

It reads no file and judges nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

WINDOWS = ("decode", "e2e")
MOST = 2**53
"""Up to here a float counts one by one: enough for any answer's seconds and tokens."""
SHOWN = 40
"""Characters of a wrong value in a message."""


@dataclass(frozen=True)
class Series:
    """A method as it was measured; None: the result does not say."""

    method: str
    target: str | None = None
    temperature: float | None = None

    def differs_from(self, other: "Series") -> str | None:
        """What of the two cannot be compared, as `target a → b`; None where nothing is known to differ."""
        for name in ("target", "temperature"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if None not in (mine, theirs) and mine != theirs:
                return f"{name} {mine} → {theirs}"
        return None


@dataclass
class Prompt:
    """What one method did with one prompt, repeat by repeat; a window that was not measured is absent.

    spans     window -> repeat -> (seconds, tokens)
    ids       repeat -> token ids, where they are known; `texts` likewise
    limit     tokens at which the limit cut an answer; 0: no answer is known to have met it
    longest   tokens of the longest answer
    """

    spans: dict[str, dict[int, tuple[float, int]]] = field(default_factory=dict)
    ids: dict[int, tuple[int, ...]] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    limit: int = 0
    longest: int = 0

    def span(self, window: str) -> tuple[float, float]:
        """Mean seconds and tokens of a repeat: a prompt counts as much however often it was asked."""
        spans = self.spans[window].values()
        return tuple(sum(column) / len(spans) for column in zip(*spans, strict=True))

    def other_limit(self, other: "Prompt") -> bool:
        """Whether the two are known to have stopped at different limits: these are not the same work."""
        return (0 < self.limit < other.longest or 0 < other.limit < self.longest)

    def same_answer(self, other: "Prompt") -> bool | None:
        """By ids where both have them, else by text; None where neither can be held against the other."""
        for mine, theirs in ((self.ids, other.ids), (self.texts, other.texts)):
            shared = mine.keys() & theirs.keys()
            if shared:
                return all(mine[repeat] == theirs[repeat] for repeat in shared)
        return None


@dataclass
class Result:
    """conditions  what it was measured under, by name; empty where nothing is known"""

    name: str
    series: dict[Series, dict[str, Prompt]] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(series.method for series in self.series))

    def prompt(self, series: Series, key: str) -> Prompt:
        """The prompt's record, a new one where there is none yet."""
        return self.series.setdefault(series, {}).setdefault(key, Prompt())


def check_span(seconds: Sequence[object], tokens: object) -> None:
    """Raises ValueError that says what of an answer's account cannot be."""
    for value in seconds:
        if not _is_number(value) or not 0 <= value < MOST:
            raise ValueError(f"`{str(value)[:SHOWN]}` is no number of seconds")
    if not isinstance(tokens, int) or isinstance(tokens, bool) or not 0 < tokens < MOST:
        raise ValueError(f"`{str(tokens)[:SHOWN]}` is no number of tokens")
    if not sum(seconds) > 0:
        raise ValueError(f"{tokens} tokens in 0 seconds")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
