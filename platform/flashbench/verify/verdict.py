"""The verdict: which answers were compared, which differed, and the tables that say so.

It computes nothing; a verdict is true when no answer really differed, every law is the target's
and no drawn answers stand out.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.text import Text

from flashbench.bench.rows import VANILLA
from flashbench.console import coloured, say, table
from flashbench.journal import write_json
from flashbench.verify.chi_square import LEVEL, Homogeneity
from flashbench.verify.law import EXACT as EXACT_LAW
from flashbench.verify.law import Law

FLOAT, EXACT, TREES, OWN, OUTSIDE = "float32", "exact", "trees", "own", "outside"
CHECKS = {FLOAT: "float32, token for token",
          EXACT: "{dtype}, {width} rows always: tokens and every bit of the logits",
          TREES: "{dtype}, {width} rows always, trees: tokens; equal are those with every bit of the logits",
          OWN: "{dtype}, ordinary passes (vanilla: {width} rows against one)",
          OUTSIDE: "float32, transformers' own generate"}


@dataclass(frozen=True)
class Outcome:
    """One answer held against vanilla's.

    check     a key of CHECKS
    position  first differing token (or row of logits), None where all are equal
    gap       the target's top-2 logit gap there; ulps: the same in steps of its number format
    lag       most steps by which a token lies below the target's best when it reads the whole answer
    limit     steps that the target's own rounding explains
    kind      "tie": explained by rounding; "real": not; "bits": the tokens are equal, the logits are not;
              "end": equal, until the answer has to end earlier
    k         drafted tokens a round, where it was not the draft's own number
    """

    check: str
    task: str
    sample: str
    method: str
    tokens: int
    position: int | None = None
    gap: float | None = None
    ulps: float | None = None
    lag: float | None = None
    limit: float | None = None
    kind: str | None = None
    k: int | None = None

    @property
    def equal(self) -> bool:
        return self.position is None

    @property
    def is_tie(self) -> bool:
        """Excused: ordinary passes in the target's own number format may round otherwise, and so may those of a
        tree, whose rows read keys that lie in other places.
        """
        return self.check == OWN and self.kind == "tie" or self.check == TREES and self.kind in ("tie", "bits")


@dataclass(frozen=True)
class Cost:
    """One answer's tokens and seconds after the first token, with a constant number of rows and without."""

    method: str
    exact_tokens: int
    exact_seconds: float
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Verdict:
    """Truthy when answers were compared and nothing was found against any."""

    dtype: str
    width: int
    max_new_tokens: int
    outcomes: tuple[Outcome, ...]
    fingerprint: dict[str, object]
    laws: tuple[Law, ...] = ()
    draws: tuple[Homogeneity, ...] = ()
    costs: tuple[Cost, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.outcomes) and not self.failures and not self.wrong_laws and not self.strange_draws

    @property
    def failures(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.equal and not outcome.is_tie]

    @property
    def ties(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.is_tie]

    @property
    def wrong_laws(self) -> list[Law]:
        return [law for law in self.laws if not law.exact]

    @property
    def strange_draws(self) -> list[Homogeneity]:
        return [test for test in self.draws if not test.same]

    def lines(self) -> Iterator[dict[str, object]]:
        """Per check × method: how many answers, how many equal, how many explained by rounding."""
        for check, method in dict.fromkeys((outcome.check, outcome.method) for outcome in self.outcomes):
            some = [outcome for outcome in self.outcomes if (outcome.check, outcome.method) == (check, method)]
            yield {"check": check, "what": CHECKS[check].format(dtype=self.dtype, width=self.width), "method": method,
                   "answers": len(some), "tokens": sum(outcome.tokens for outcome in some),
                   "equal": sum(outcome.equal for outcome in some), "ties": sum(outcome.is_tie for outcome in some)}

    def law_lines(self) -> Iterator[dict[str, object]]:
        """Per method × mode: how many laws, and the largest distance from the target's own."""
        for method, mode in dict.fromkeys((law.method, law.mode) for law in self.laws):
            some = [law for law in self.laws if (law.method, law.mode) == (method, mode)]
            yield {"method": method, "mode": mode, "laws": len(some), "largest": max(law.distance for law in some)}

    def cost_lines(self) -> Iterator[dict[str, object]]:
        """Per method: milliseconds per token with a constant number of rows and without."""
        for method in dict.fromkeys(cost.method for cost in self.costs):
            some = [cost for cost in self.costs if cost.method == method]
            exact = sum(cost.exact_seconds for cost in some) / max(1, sum(cost.exact_tokens for cost in some))
            ordinary = sum(cost.seconds for cost in some) / max(1, sum(cost.tokens for cost in some))
            yield {"method": method, "exact_ms": 1e3 * exact, "ordinary_ms": 1e3 * ordinary,
                   "ratio": exact / ordinary if ordinary else None}

    def write(self, path: Path) -> None:
        write_json(path, {"lossless": bool(self), "dtype": self.dtype, "width": self.width,
                          "max_new_tokens": self.max_new_tokens, "lines": list(self.lines()),
                          "failures": [asdict(outcome) for outcome in self.failures],
                          "ties": [asdict(outcome) for outcome in self.ties],
                          "laws": [asdict(law) | {"exact": law.exact} for law in self.laws],
                          "draws": [asdict(test) | {"same": test.same} for test in self.draws],
                          "exact_mode_cost": list(self.cost_lines()), "fingerprint": self.fingerprint})

    def show(self) -> None:
        table("Losslessness: each answer against vanilla's",
              ("check", "method", "answers", "tokens", "equal", "ties"),
              [(line["what"], line["method"], line["answers"], line["tokens"], _equal(line), line["ties"])
               for line in self.lines()])
        for parted in [*self.failures, *self.ties]:
            say(_sentence_about(parted))
        if self.laws:
            table("Law of the next three tokens, every outcome enumerated on a tiny target",
                  ("draft", "its tokens", "laws", "largest distance from the target's"),
                  [(line["method"], line["mode"], line["laws"], _distance(line["largest"]))
                   for line in self.law_lines()])
        if self.draws:
            table(f"First tokens of drawn answers against vanilla's (χ², corrected p ≥ {LEVEL})",
                  ("method", "prompt", "token", "answers", "χ²", "degrees", "p", "corrected"),
                  [(_drawn(test), test.sample, test.place, test.draws, f"{test.statistic:.1f}", test.freedom,
                    f"{test.p:.3g}", coloured(f"{test.corrected:.3g}", "green" if test.same else "red"))
                   for test in self.draws])
        if self.costs:
            table(f"What {self.width} rows in every pass cost ({self.dtype}, ms per token after the first)",
                  ("method", "always so many rows", "ordinary", "ratio"),
                  [(line["method"], f"{line['exact_ms']:.1f}", f"{line['ordinary_ms']:.1f}",
                    "–" if line["ratio"] is None else f"{line['ratio']:.2f}") for line in self.cost_lines()])
        say(self._sentence())

    def _sentence(self) -> str:
        if not self.outcomes:
            return "Nothing was compared, so nothing is known to be lossless."
        if self:
            ties = f", but for {len(self.ties)} that rounding explains" if self.ties else ""
            return f"Lossless: every answer is vanilla's own{ties}."
        found = [f"{len(some)} of {len(all_of)} {what}" for some, all_of, what in (
            (self.failures, self.outcomes, "answers differ from vanilla's"),
            (self.wrong_laws, self.laws, "laws are not the target's"),
            (self.strange_draws, self.draws, "tests of drawn answers fail")) if some]
        return f"NOT lossless: {'; '.join(found)}."


def _sentence_about(parted: Outcome) -> str:
    who = parted.method + (f" with K = {parted.k}" if parted.k else "")
    where = f"at token {parted.position} of {parted.task}/{parted.sample} ({parted.check}"
    if parted.kind == "bits":
        return f"{who}: the tokens are vanilla's, but not every bit of the logits, first {where})"
    if parted.kind == "end":
        return f"{who} does not end like vanilla, first {where})"
    explained = "a tie" if parted.kind == "tie" else "no tie"
    limit = "" if parted.limit is None else f", and rounding explains {parted.limit:.3g}"
    return (f"{who} differs from vanilla {where}; the target's top two logits are {parted.gap:.3g} apart there, "
            f"{parted.ulps:.3g} ulps; in the replay no token lies more than {parted.lag:.3g} ulps below the best"
            f"{limit}: {explained})")


def _equal(line: dict[str, object]) -> Text:
    fine = line["equal"] + line["ties"] == line["answers"]
    return coloured(f"{line['equal']}/{line['answers']}", "green" if fine else "red")


def _distance(largest: float) -> Text:
    return coloured(f"{largest:.1e}", "green" if largest <= EXACT_LAW else "red")


def _drawn(test: Homogeneity) -> str:
    return f"{test.method} (control)" if test.method == VANILLA else test.method
