"""Live pairs: one order decoded by two methods. What is kept of them is bounded; they hold no text and no tokens.

Of each two methods the latest `keep_pairs` pairs are kept, each with its two accounts (three bytes a round), and
counts of all pairs since the ingress started.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from flashbench.serve.events import Committed, Event, Finished, Order
from specflash.metrics import Row

Kind = Literal["tie", "real", "unjudged"]
VANILLA = "vanilla"
ROUNDS = ("kept", "drafted", "committed")
MOST_DIFFERENCES = 100
"""The latest differing pairs that are told one by one."""


@dataclass
class Answer:
    """What a method said to an order. Read it when `account` is there.

    alone  nothing else was computed here meanwhile, as far as this ingress knows
    """

    method: str
    order: Order
    ids: list[int] = field(default_factory=list)
    account: Row | None = None
    alone: bool = False

    def take(self, event: Event) -> None:
        if isinstance(event, Committed):
            self.ids.extend(event.ids)
        elif isinstance(event, Finished):
            rounds = (bytes(each) for each in (event.kept, event.drafted, event.committed))
            self.account = Row(self.order.sample.id, *rounds, dict(event.seconds))


@dataclass(frozen=True)
class Pair:
    """method and its baseline answered one order.

    first      the one that ran first, for the client
    identical  they said the same, token for token; None above temperature 0, where chance decides
    timed      their seconds can be compared
    kind       of a difference, by the gate's rule
    position, gap   of a difference: the first token that differs, and how far the target's top two lie apart there
    """

    method: str
    baseline: str
    ours: Row
    theirs: Row
    first: str
    identical: bool | None
    timed: bool
    kind: Kind | None = None
    position: int | None = None
    gap: float | None = None

    @property
    def prompt(self) -> str:
        """Content hash of the conversation."""
        return self.ours.prompt

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {side: _plain(getattr(self, side)) for side in ("ours", "theirs")}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> "Pair":
        rows = {side: Row(**tree[side] | {key: bytes.fromhex(tree[side][key]) for key in ROUNDS})
                for side in ("ours", "theirs")}
        return cls(**{**tree, **rows})


def _plain(row: Row) -> dict[str, Any]:
    return asdict(row) | {key: getattr(row, key).hex() for key in ROUNDS}


def baseline_first(one: str, other: str, methods: Sequence[str]) -> tuple[str, str]:
    """The two in the order (baseline, method): vanilla first, else as they are served."""
    return tuple(sorted((one, other), key=lambda name: (name != VANILLA, methods.index(name))))


@dataclass
class Tally:
    """Counts of all pairs of two methods: how many, at temperature 0, equal, and the kinds of differences."""

    pairs: int = 0
    greedy: int = 0
    identical: int = 0
    differences: Counter[str] = field(default_factory=Counter)


class Pairs:
    """What is kept, by (baseline, method)."""

    def __init__(self, keep: int):
        self.keep = keep
        self.kept: dict[tuple[str, str], deque[Pair]] = {}
        self.tallies: dict[tuple[str, str], Tally] = {}
        self.differences: deque[Pair] = deque(maxlen=MOST_DIFFERENCES)

    def add(self, pair: Pair) -> None:
        key = pair.baseline, pair.method
        self.kept.setdefault(key, deque(maxlen=self.keep)).append(pair)
        tally = self.tallies.setdefault(key, Tally())
        tally.pairs += 1
        tally.greedy += pair.identical is not None
        tally.identical += bool(pair.identical)
        if pair.kind:
            tally.differences[pair.kind] += 1
            self.differences.append(pair)

    def snapshot(self) -> "Pairs":
        """A copy that another thread may read while pairs come in."""
        copy = Pairs(self.keep)
        copy.kept = {key: kept.copy() for key, kept in self.kept.items()}
        copy.tallies = deepcopy(self.tallies)
        return copy
