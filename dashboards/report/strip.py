"""Answers as strips of tokens, coloured by the pass that committed them. It draws no figure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboards.report.records import Record, RunRecords


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
    method: str
    passes: tuple[Pass, ...]
    tokens: int
    rounds: int
    seconds: float


@dataclass(frozen=True)
class Example:
    """One prompt with every method's answer to it."""

    task: str
    out_of_domain: bool
    question: str
    picture: str | None
    strips: tuple[Strip, ...]


def examples(run: RunRecords) -> list[Example]:
    """The prompts whose token texts were kept, in the order they were measured."""
    shown: dict[str, list[Record]] = {}
    for row in run.rows:
        if row["pieces"] and row["repeat"] == 0 and row["method"] in run.methods:
            shown.setdefault(f"{row['task']}/{row['sample']}", []).append(row)
    return [_example(rows, run.pictures.get(key), run.methods) for key, rows in shown.items()]


def _example(rows: list[Record], picture: str | None, methods: Sequence[str]) -> Example:
    rows = sorted(rows, key=lambda row: methods.index(row["method"]))
    first = rows[0]
    return Example(first["task"], first["out_of_domain"], first["question"], picture,
                   tuple(_strip(row) for row in rows))


def _strip(row: Record) -> Strip:
    return Strip(row["method"], tuple(_passes(row)), row["tokens"], len(row["committed"]), sum(row["seconds"].values()))


def _passes(row: Record) -> Iterator[Pass]:
    pieces, seconds = row["pieces"], row["seconds"]
    first = seconds["vision"] + seconds["prefill"]
    start = first + seconds["draft_prefill"]
    each = (sum(seconds.values()) - start) / max(1, len(row["committed"]))
    yield Pass(0, (Token(pieces[0], own=True),), 0, 0, first)
    place = 1
    for number, (committed, kept, drafted) in enumerate(
            zip(row["committed"], row["kept"], row["drafted"], strict=True), start=1):
        texts = pieces[place: place + committed]
        tokens = tuple(Token(text, own=index >= kept) for index, text in enumerate(texts))
        yield Pass(number, tokens, drafted, kept, start + number * each)
        place += committed
