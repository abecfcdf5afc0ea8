"""Answers as strips of tokens, coloured by the pass that committed them. It draws no figure."""

from collections.abc import Iterator
from dataclasses import dataclass

from dashboards.report.lines import Record
from dashboards.report.records import RunRecords


@dataclass(frozen=True)
class Token:
    """own: chosen by the target itself (every pass ends with one), not a kept draft."""

    text: str
    own: bool


@dataclass(frozen=True)
class Pass:
    """What one verification committed (number 0: the first token, from the prefill).

    at  seconds after the request at which its tokens appear, each pass given its answer's mean time
    """

    number: int
    tokens: tuple[Token, ...]
    drafted: int
    kept: int
    at: float

    @property
    def about(self) -> str:
        if self.number == 0:
            return "from the prefill"
        return f"pass {self.number}: {self.kept} of {self.drafted} drafted tokens kept" if self.drafted \
            else f"pass {self.number}"


@dataclass(frozen=True)
class Strip:
    """One method's answer.

    identical  the same tokens as vanilla's; None where it was sampled
    tie        they are others, and rounding explains that
    start      seconds until its rounds began
    """

    method: str
    passes: tuple[Pass, ...]
    tokens: int
    rounds: int
    seconds: float
    start: float
    identical: bool | None
    tie: bool


@dataclass(frozen=True)
class Example:
    """One prompt with every method's answer to it."""

    label: str
    out_of_domain: bool
    question: str
    picture: str | None
    strips: tuple[Strip, ...]

    @property
    def slowest(self) -> float:
        """Seconds of the method that took longest."""
        return max(strip.seconds for strip in self.strips)


def examples(run: RunRecords) -> list[Example]:
    """The prompts whose token texts were kept, in the order they were measured."""
    shown: dict[tuple, list[Record]] = {}
    for row in run.rows:
        if row["pieces"] and row["repeat"] == 0 and row["method"] in run.methods:
            key = tuple(row[name] for name in ("target", "temperature", "task", "sample"))
            shown.setdefault(key, []).append(row)
    labels = {(line["target"], line["temperature"], line["task"]): line["label"] for line in run.lines}
    return [_example(rows, labels[key[:3]], run) for key, rows in shown.items()]


def _example(rows: list[Record], label: str, run: RunRecords) -> Example:
    rows = sorted(rows, key=lambda row: run.methods.index(row["method"]))
    first = rows[0]
    return Example(label, first["out_of_domain"], first["question"],
                   run.pictures.get(f"{first['task']}/{first['sample']}"), tuple(_strip(row) for row in rows))


def _strip(row: Record) -> Strip:
    seconds = row["seconds"]
    return Strip(row["method"], tuple(_passes(row)), row["tokens"], len(row["committed"]), sum(seconds.values()),
                 _start(seconds), row["identical"], bool(row.get("tie")))


def _start(seconds: dict[str, float]) -> float:
    return seconds["vision"] + seconds["prefill"] + seconds["draft_prefill"]


def _passes(row: Record) -> Iterator[Pass]:
    pieces, seconds = row["pieces"], row["seconds"]
    start = _start(seconds)
    each = (sum(seconds.values()) - start) / max(1, len(row["committed"]))
    yield Pass(0, (Token(pieces[0], own=True),), 0, 0, start - seconds["draft_prefill"])
    place = 1
    for number, (committed, kept, drafted) in enumerate(
            zip(row["committed"], row["kept"], row["drafted"], strict=True), start=1):
        texts = pieces[place: place + committed]
        tokens = tuple(Token(text, own=index >= kept) for index, text in enumerate(texts))
        yield Pass(number, tokens, drafted, kept, start + number * each)
        place += committed
