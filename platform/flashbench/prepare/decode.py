"""Whether pictures and clips can be decoded, in processes of their own. It knows no data set."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from random import Random
from typing import TypeVar

from specflash.data.video import load_frames
from specflash.errors import UserError, one_line
from specflash.records import Medium

FEW = 256
"""So many media are decoded sooner than other processes start."""
CHUNK = 16
START = "spawn"  # a copy of a process with threads may wait for ever for one of them
Item = TypeVar("Item")


def choose(media: list[Item], most: int, seed: int) -> list[Item]:
    """All of them, or a sample of `most` that follows from the seed, in order."""
    if len(media) <= most:
        return media
    return [media[place] for place in sorted(Random(seed).sample(range(len(media)), most))]


def find_broken(names: Sequence[Item], fetch: Callable[[Item], Medium], workers: int,
                on_step: Callable[[], None]) -> dict[Item, str]:
    """What cannot be decoded to its end -> the reason, in one line. `fetch` gives the medium of a name."""
    broken = {}
    for name, reason in zip(names, _reasons(names, fetch, workers), strict=True):
        if reason is not None:
            broken[name] = reason
        on_step()
    return broken


def _reasons(names: Sequence[Item], fetch: Callable[[Item], Medium], workers: int) -> Iterator[str | None]:
    if len(names) <= FEW:
        yield from (_reason(fetch(name)) for name in names)
        return
    try:
        with ProcessPoolExecutor(workers, multiprocessing.get_context(START)) as pool:
            for start in range(0, len(names), FEW):  # a pool takes all it is given into memory at once
                yield from pool.map(_reason, map(fetch, names[start:start + FEW]), chunksize=CHUNK)
    except BrokenProcessPool:
        raise UserError("a process that decodes pictures and clips was killed, by lack of memory or by a file that its "
                        "decoder cannot bear: set check.workers=1, or check.media to less") from None


def _reason(medium: Medium) -> str | None:
    try:
        load_frames(medium)
    except (UserError, OSError, ValueError) as error:
        return one_line(error)
    return None
