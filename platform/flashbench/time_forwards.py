"""What one pass of the target costs on this machine, by number of rows. It knows no draft.

Verification of K drafts has K + 1 rows. How much more that costs than the one row of vanilla
decides which K pays, and bounds the speed-up: R ≤ A · t(1) / t(K + 1).
"""

from statistics import median
from typing import Annotated

import torch
import typer

from flashbench.console import progress, told_plainly
from flashbench.console import table as show_table
from specflash.data.drawn import TEST_SEED, jpeg
from specflash.data.scenes import draw_scene
from specflash.decoding import Passes
from specflash.records import Sample, Turn
from specflash.targets import load_target
from specflash.targets.base import Target
from specflash.timing import Stopwatch

ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16)
ANSWER = 128


@torch.inference_mode()
def time_forwards(target: Target, repeats: int) -> dict[int, float]:
    """Median seconds per pass by rows; every repeat times all row counts in turn."""
    sample = Sample("timing", (jpeg(draw_scene(TEST_SEED)),), (Turn("Describe the image."),), "timing")
    prompt = target.encode(sample)
    passes = Passes(target, prompt, ANSWER, width=None)
    passes.prefill(target.embed_prompt(prompt))
    taken: dict[int, list[float]] = {rows: [] for rows in ROWS}
    with progress("passes", repeats * len(ROWS)) as advance:
        for repeat in range(-1, repeats):  # the first one warms up
            for rows in ROWS:
                seconds = _seconds(target, passes, rows)
                if repeat >= 0:
                    taken[rows].append(seconds)
                    advance()
    return {rows: median(seconds) for rows, seconds in taken.items()}


def _seconds(target: Target, passes: Passes, rows: int) -> float:
    """Of one verifying pass, which is forgotten."""
    ids = torch.randint(target.vocabulary, (rows,), device=target.device)
    taken = {"verify": 0.0}
    clock = Stopwatch(taken, target.device)
    clock.start()
    passes.verify(ids)
    clock.lap("verify")
    passes.keep([], rows)
    return taken["verify"]


def run(
    target: Annotated[str, typer.Option(help="catalogue name")] = "llava-smol",
    weights: Annotated[str | None, typer.Option(help="folder of the weights; none: those that come along")] = None,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16")] = "float32",
    repeats: Annotated[int, typer.Option(min=1)] = 15,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads")] = 2,
) -> None:
    """Time the target's passes by number of rows: python jobs/time_forwards.py --dtype float32"""
    torch.set_num_threads(threads)
    times = time_forwards(load_target(target, weights, dtype), repeats)
    show_table(f"{target}, {dtype}, {threads} threads", ("rows", "ms", "× one row"),
               [(rows, f"{1e3 * seconds:.1f}", f"{seconds / times[1]:.2f}") for rows, seconds in times.items()])


def main() -> None:
    with told_plainly():
        typer.run(run)
