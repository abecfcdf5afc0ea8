"""The command line around `specflash.smol.build`: progress, resume, export. It trains nothing itself."""

import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Annotated

import torch
import typer

from flashbench.console import told_plainly
from specflash.catalogue import pick
from specflash.smol.bodies import BODIES
from specflash.smol.build import RECIPES, Builder, only
from specflash.smol.shipped import WEIGHTS


class StepLog:
    """Prints a line now and then: figures averaged since the last line, and the time left."""

    def __init__(self, every: int = 10):
        self.every = every
        self.values: dict[str, list[float]] = {}
        self.started: tuple[str, int, float] | None = None

    def __call__(self, stage: str, step: int, steps: int, figures: dict[str, float]) -> None:
        if self.started is None or self.started[0] != stage:
            self.started = (stage, step - 1, time.monotonic())
        for name, value in figures.items():
            self.values.setdefault(name, []).append(value)
        if step % self.every == 0 or step == steps:
            pace = (time.monotonic() - self.started[2]) / (step - self.started[1])
            means = "  ".join(f"{name} {fmean(values):.3f}" for name, values in self.values.items())
            print(f"{stage} {step}/{steps}  {means}  {pace:.1f} s/step  "
                  f"{pace * (steps - step) / 60:.0f} min left", flush=True)
            self.values = {}


def build(
    target: Annotated[str, typer.Option(help=" or ".join(RECIPES))] = "llava-smol",
    folder: Annotated[Path | None, typer.Option(help="where the unfinished state is kept; "
                                                "runs/build-TARGET if left out")] = None,
    output: Annotated[Path | None, typer.Option(help="where the finished weights go; "
                                                "where the project keeps them if left out")] = None,
    start: Annotated[Path | None, typer.Option(help="weights to begin from, of this target or of one with the same "
                                               "language model")] = None,
    stages: Annotated[str, typer.Option(help="only these, by comma, of windows, patches, tune, refine, clips")] = "",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads")] = 2,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Train the tower on patch labels, then tower and LoRA deltas on conversations."""
    torch.set_num_threads(threads)
    recipe = only(replace(pick(RECIPES, target, "embedded target"), seed=seed), stages)
    builder = Builder(recipe, BODIES[target], folder or Path(f"runs/build-{target}"), StepLog(), start)
    builder.run()
    output = output or WEIGHTS / target / "model.safetensors"
    builder.export(output)
    print(f"weights: {output}")


def main() -> None:
    with told_plainly():
        typer.run(build)
