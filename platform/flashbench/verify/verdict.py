"""The verdict: which answers were compared, which differed, and the table that says so.

It computes nothing; a verdict is true when no answer differed.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.text import Text

from flashbench.console import coloured, say, table
from flashbench.journal import write_json

FLOAT, EXACT, OUTSIDE = "float32", "exact", "outside"
CHECKS = {FLOAT: "float32, token for token",
          EXACT: "{dtype}, constant width, token for token",
          OUTSIDE: "float32, transformers' own generate"}


@dataclass(frozen=True)
class Outcome:
    """One answer held against vanilla's.

    check     a key of CHECKS
    position  first differing token, None where all are equal
    gap       the target's top-2 logit gap there
    """

    check: str
    task: str
    sample: str
    method: str
    tokens: int
    position: int | None
    gap: float | None

    @property
    def equal(self) -> bool:
        return self.position is None


@dataclass(frozen=True)
class Verdict:
    """Truthy when answers were compared and every one was vanilla's own."""

    dtype: str
    width: int
    max_new_tokens: int
    outcomes: tuple[Outcome, ...]
    fingerprint: dict[str, object]

    def __bool__(self) -> bool:
        return bool(self.outcomes) and all(outcome.equal for outcome in self.outcomes)

    @property
    def failures(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.equal]

    def lines(self) -> Iterator[dict[str, object]]:
        """Per check × method: how many answers, how many equal."""
        for check, method in dict.fromkeys((outcome.check, outcome.method) for outcome in self.outcomes):
            some = [outcome for outcome in self.outcomes if (outcome.check, outcome.method) == (check, method)]
            yield {"check": check, "what": CHECKS[check].format(dtype=self.dtype), "method": method,
                   "answers": len(some), "tokens": sum(outcome.tokens for outcome in some),
                   "equal": sum(outcome.equal for outcome in some)}

    def write(self, path: Path) -> None:
        write_json(path, {"lossless": bool(self), "dtype": self.dtype, "width": self.width,
                          "max_new_tokens": self.max_new_tokens, "lines": list(self.lines()),
                          "failures": [asdict(outcome) for outcome in self.failures],
                          "fingerprint": self.fingerprint})

    def show(self) -> None:
        table("Losslessness: each answer against vanilla's", ("check", "method", "answers", "tokens", "equal"),
              [(line["what"], line["method"], line["answers"], line["tokens"], _equal(line)) for line in self.lines()])
        for failure in self.failures:
            say(f"{failure.method} differs from vanilla at token {failure.position} of {failure.task}/{failure.sample} "
                f"({failure.check}; the target's top two logits are {failure.gap:.3g} apart there)")
        say(self._sentence())

    def _sentence(self) -> str:
        if not self.outcomes:
            return "Nothing was compared, so nothing is known to be lossless."
        if self:
            return "Lossless: every answer is vanilla's own."
        return f"NOT lossless: {len(self.failures)} of {len(self.outcomes)} answers differ from vanilla's."


def _equal(line: dict[str, object]) -> Text:
    return coloured(f"{line['equal']}/{line['answers']}", "green" if line["equal"] == line["answers"] else "red")
