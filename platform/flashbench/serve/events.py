"""What travels between the ingress and a replica. Plain data: it knows no HTTP and no model."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from specflash.records import Sample
from specflash.sampling import Sampling


@dataclass(frozen=True)
class Order:
    """One conversation to be answered, how tokens are to be drawn, and the strings that end the answer.

    whole  nobody reads along: the rounds may be told together, at the end
    """

    sample: Sample
    sampling: Sampling
    stop: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True)
class Refused:
    """The replica cannot take the order. Always the only event."""

    message: str
    code: str


@dataclass(frozen=True)
class Started:
    """The prompt is encoded; its length counts each visual token."""

    prompt_tokens: int


@dataclass(frozen=True)
class Committed:
    """One round's tokens, and the text that is certain by now.

    ids      committed tokens; the first such event is the prefill's one token
    text     may be empty where a character is not complete yet
    drafted  tokens drafted this round
    kept     drafted tokens accepted, before cuts
    pieces   `text` token by token; () where nobody cut it
    """

    ids: tuple[int, ...]
    text: str
    drafted: int
    kept: int
    pieces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finished:
    """The account of a finished answer.

    text       what had been held back; the texts of all events are the whole answer
    finish     "stop" (an end token or a stop string) or "length"
    kept, drafted, committed   per round; 1 + sum(committed) is the number of completion tokens
    seconds    per phase
    """

    text: str
    finish: str
    kept: tuple[int, ...]
    drafted: tuple[int, ...]
    committed: tuple[int, ...]
    seconds: dict[str, float]


Event = Refused | Started | Committed | Finished
"""In this order: Refused, or Started, Committed (one or more), Finished."""


class Decoder(Protocol):
    """Answers orders. Closing the generator stops the generation within one round."""

    def decode(self, order: Order) -> AsyncGenerator[Event, None]: ...


class Judge(Decoder, Protocol):
    """A Decoder that also says why two answers to an order differ."""

    async def judge(self, order: Order, ours: Sequence[int], reference: Sequence[int]) -> dict[str, Any]:
        """Where the greedy answer `ours` leaves `reference`, and whether rounding explains it (bench/ties.py)."""
