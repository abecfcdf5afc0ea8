"""What was planned, and what came of it: any part of a benchmark's rows beside the pieces they answer.

It computes no number.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from flashbench.bench.plan import Piece
from flashbench.bench.rows import AGAIN, VANILLA, Row, key_of, prompt_of
from flashbench.values import ControlName

CONTROL_NAMES = get_args(ControlName)


@dataclass(frozen=True)
class Results:
    """pieces were planned; rows are the answers to them; failures what a method raised in place of one."""

    pieces: Sequence[Piece]
    rows: Sequence[Row]
    failures: Sequence[Mapping[str, Any]] = ()

    def part(self, **labels: Any) -> "Results":
        """Those of one target, task or temperature, or of a domain (the columns of a row by their names)."""
        def fits(row: Row) -> bool:
            return all(row[name] == value for name, value in labels.items())
        return Results([piece for piece in self.pieces if fits(labels_of(piece))],
                       list(filter(fits, self.rows)), list(filter(fits, self.failures)))

    def asked_of(self, method: str) -> "Results":
        """The pieces on which it was the method's turn, with everybody's answers to them."""
        pieces = [piece for piece in self.pieces if method in piece.methods]
        keys = {piece.key for piece in pieces}
        return Results(pieces, [row for row in self.rows if piece_of(row) in keys],
                       [failure for failure in self.failures if piece_of(failure) in keys])

    def of(self, method: str) -> list[Row]:
        return [row for row in self.rows if row["method"] == method]

    def methods(self) -> list[str]:
        """Ours: vanilla first, then by name."""
        return [VANILLA, *sorted(self._named() - {VANILLA, AGAIN, *CONTROL_NAMES})]

    def controls(self) -> list[str]:
        return [name for name in CONTROL_NAMES if name in self._named()]

    def distinct(self, *labels: str) -> list[dict[str, Any]]:
        """The combinations of these labels, in the order of the plan."""
        found = dict.fromkeys(tuple(labels_of(piece)[name] for name in labels) for piece in self.pieces)
        return [dict(zip(labels, values, strict=True)) for values in found]

    def _named(self) -> set[str]:
        return {method for piece in self.pieces for method in piece.methods}


def labels_of(piece: Piece) -> dict[str, Any]:
    """What a row of the piece says about itself."""
    return {"target": piece.target, "task": piece.prompt.task, "temperature": piece.temperature,
            "out_of_domain": piece.prompt.out_of_domain}


def piece_of(row: Row) -> str:
    """The key of the piece that a row answers."""
    return key_of(row["target"], row["temperature"], prompt_of(row))


def answers(rows: Iterable[Row]) -> dict[tuple[str, int], Row]:
    """Rows of one method by what they answer: the piece and the repeat."""
    return {(piece_of(row), row["repeat"]): row for row in rows}
