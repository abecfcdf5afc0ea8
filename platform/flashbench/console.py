"""What the terminal shows: progress and notes on stderr, results on stdout. It knows no stage.

On a terminal a long step is a live bar; anywhere else (a CI log, a file) it is a plain line
every ten seconds and one at the end.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

from specflash.errors import UserError
from specflash.files import NO_SPACE

SECONDS_BETWEEN_LINES = 10.0
PLAIN_WIDTH = 140

stderr = Console(stderr=True, highlight=False)


class Advance(Protocol):
    def __call__(self, n: int = 1) -> None:
        """Count `n` more of the step's units as done."""


@contextmanager
def progress(title: str, total: int | None) -> Iterator[Advance]:
    """Show how far a long step is: count, rate, time left, time gone.

    total   how many units the step has; None where nobody knows beforehand
    """
    meter = _live_meter if stderr.is_terminal else _plain_meter
    with meter(title, total) as advance:
        yield advance


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a stage and, when it is over, how long it took."""
    started = time.monotonic()
    note(f"▶ {title}")
    try:
        yield
    except BaseException:
        note(f"✗ {title} stopped after {clock(time.monotonic() - started)}")
        raise
    note(f"✓ {title} · {clock(time.monotonic() - started)}")


def note(text: str) -> None:
    """One line for the person who watches (stderr)."""
    stderr.print(text, soft_wrap=True, markup=False, emoji=False)


@contextmanager
def told_plainly() -> Iterator[None]:
    """What a person has to change is one line and exit code 2, not a traceback."""
    try:
        yield
    except UserError as error:
        # One raised in a Ray worker arrives wrapped, its text a whole remote traceback.
        note(f"error: {getattr(error, 'cause', error)}")
        sys.exit(2)
    except OSError as error:
        told = getattr(error, "cause", error)
        if told.filename is None and told.errno not in NO_SPACE:
            raise
        note(f"error: {_about_file(told)}")
        sys.exit(2)
    except SystemExit as end:
        if end.code in (130, 143):  # Ctrl-C, SIGTERM
            note("interrupted")
        raise


def _about_file(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is None:
        return f"{reason}: free some space and run the same command again"
    return f"{error.filename}: {reason}; correct the path or its permissions and run the same command again"


def say(text: str) -> None:
    """One line of result (stdout)."""
    _stdout().print(text, soft_wrap=True, markup=False, emoji=False)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table of results on stdout. What it is given is shown as it is; a cell from `coloured` has its colour."""
    grid = Table(*(Column(Text(name)) for name in columns), title=Text(title, "table.title"), title_justify="left")
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    _stdout().print(grid)


def coloured(text: str, colour: str) -> Text:
    """A cell of a table."""
    return Text(text, style=colour)


def clock(seconds: float) -> str:
    """`0:01:05`, for people; a day is `24:00:00`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _stdout() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PLAIN_WIDTH)


@contextmanager
def _live_meter(title: str, total: int | None) -> Iterator[Advance]:
    bar = Progress(SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(),
                   MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
                   TimeRemainingColumn(), TimeElapsedColumn(), console=stderr)
    started, done = time.monotonic(), 0
    with bar:
        task = bar.add_task(title, total=total, rate="")

        def advance(n: int = 1) -> None:
            nonlocal done
            done += n
            bar.update(task, advance=n, rate=_rate(done, time.monotonic() - started))

        yield advance


@contextmanager
def _plain_meter(title: str, total: int | None) -> Iterator[Advance]:
    started = last_line = time.monotonic()
    done = shown = 0

    def line() -> None:
        nonlocal last_line, shown
        last_line, shown = time.monotonic(), done
        note(f"{title}: {_state(done, total, last_line - started)}")

    def advance(n: int = 1) -> None:
        nonlocal done
        done += n
        if time.monotonic() - last_line >= SECONDS_BETWEEN_LINES:
            line()

    try:
        yield advance
    finally:
        if shown != done or done == 0:
            line()


def _state(done: int, total: int | None, seconds: float) -> str:
    count = f"{done}/{total}" if total is not None else f"{done}"
    parts = [count, _rate(done, seconds)]
    if total is not None and 0 < done < total:
        parts.append(f"{clock(seconds * (total - done) / done)} left")
    return " · ".join([*parts, f"{clock(seconds)} elapsed"])


def _rate(done: int, seconds: float) -> str:
    return f"{done / seconds:.3g}/s" if seconds > 0 else "–/s"
