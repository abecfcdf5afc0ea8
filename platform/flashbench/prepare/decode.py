"""Whether pictures and clips can be decoded, in processes of their own. It knows no data set."""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from random import Random

from specflash.data.video import load_frames
from specflash.errors import UserError, one_line
from specflash.records import Medium

FEW = 256
"""So many media are decoded sooner than other processes start."""
CHUNK = 16


def choose(media: list[Medium], most: int, seed: int) -> list[Medium]:
    """All of them, or a sample of `most` that follows from the seed, in order."""
    if len(media) <= most:
        return media
    return [media[place] for place in sorted(Random(seed).sample(range(len(media)), most))]


def find_broken(media: list[Medium], workers: int, on_step: Callable[[], None]) -> dict[Medium, str]:
    """What cannot be decoded to its end -> the reason, in one line."""
    broken = {}
    for medium, reason in zip(media, _reasons(media, workers), strict=True):
        if reason is not None:
            broken[medium] = reason
        on_step()
    return broken


def _reasons(media: list[Medium], workers: int) -> Iterator[str | None]:
    if len(media) <= FEW:
        yield from map(_reason, media)
        return
    try:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            yield from pool.map(_reason, media, chunksize=CHUNK)
    except BrokenProcessPool:
        raise UserError("a process that decodes pictures and clips was killed, by lack of memory or by a file that its "
                        "decoder cannot bear: set check.workers=1, or check.media to less") from None


def _reason(medium: Medium) -> str | None:
    try:
        load_frames(medium)
    except (UserError, OSError, ValueError) as error:
        return one_line(error)
    return None
