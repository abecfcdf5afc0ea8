"""How far the workers are, told to the driver through one small file. It knows no training.

`ray.train.report` is a barrier that the controller polls every so often: too slow for each step.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from flashbench.console import note, progress

SECONDS_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class Progress:
    """Optimiser steps done of all, and one line per finished epoch.

    start  step of the checkpoint this training continued from, 0 without one
    """

    start: int
    step: int
    total: int
    lines: tuple[str, ...]


def tell(path: Path, state: Progress) -> None:
    """Replace the file; a reader sees the old or the new one."""
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(json.dumps(asdict(state)))
    unfinished.replace(path)


def show_while(action: Callable[[], None], path: Path, title: str) -> None:
    """Run `action` and show what it tells meanwhile: a bar of steps, a line per epoch."""
    path.unlink(missing_ok=True)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(path, title, over), daemon=True)
    watcher.start()
    try:
        action()
    finally:
        over.set()
        watcher.join()


def _watch(path: Path, title: str, over: threading.Event) -> None:
    first = _wait_for_first(path, over)
    if first is None:
        return
    seen, shown = first.start, 0
    from_step = f" (from step {seen} of {first.total})" if seen else ""
    with progress(f"{title}{from_step}", first.total - seen) as advance:
        while True:
            last_look = over.is_set()
            state = _read(path) or first
            # Workers that were started again go back to their checkpoint; the bar waits for them.
            advance(max(0, state.step - seen))
            seen = max(seen, state.step)
            for line in state.lines[shown:]:
                note(f"{title}: {line}")
            shown = max(shown, len(state.lines))
            if last_look:
                return
            over.wait(SECONDS_BETWEEN_LOOKS)


def _wait_for_first(path: Path, over: threading.Event) -> Progress | None:
    while not over.is_set():
        state = _read(path)
        if state is not None:
            return state
        over.wait(SECONDS_BETWEEN_LOOKS)
    return _read(path)


def _read(path: Path) -> Progress | None:
    if not path.exists():
        return None
    entries = json.loads(path.read_text())
    return Progress(**{**entries, "lines": tuple(entries["lines"])})
