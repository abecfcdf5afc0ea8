"""The command line around `specflash.smol.build`: progress, resume, export. It trains nothing itself."""

import time
from pathlib import Path
from typing import Annotated

import torch
import typer

from specflash.smol.build import Builder, Recipe
from specflash.smol.llava_smol import WEIGHTS


class StepLog:
    """Prints a line now and then: figures averaged since the last line, and the time left."""

    def __init__(self, every: int = 10):
        self.every = every
        self.sums: dict[str, float] = {}
        self.count = 0
        self.started: tuple[str, int, float] | None = None

    def __call__(self, stage: str, step: int, steps: int, figures: dict[str, float]) -> None:
        if self.started is None or self.started[0] != stage:
            self.started = (stage, step - 1, time.monotonic())
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        self.count += 1
        if step % self.every == 0 or step == steps:
            pace = (time.monotonic() - self.started[2]) / (step - self.started[1])
            means = "  ".join(f"{name} {value / self.count:.3f}" for name, value in self.sums.items())
            print(f"{stage} {step}/{steps}  {means}  {pace:.1f} s/step  "
                  f"{pace * (steps - step) / 60:.0f} min left", flush=True)
            self.sums, self.count = {}, 0


def build(
    folder: Annotated[Path, typer.Option(help="where the unfinished state is kept")] = Path("runs/build-target"),
    output: Annotated[Path, typer.Option(help="where the finished weights go")] = WEIGHTS,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads")] = 2,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Train the tower on patch labels, then tower, projector and LoRA deltas on conversations."""
    torch.set_num_threads(threads)
    builder = Builder(Recipe(seed=seed), folder, StepLog())
    builder.run()
    builder.export(output)
    print(f"weights: {output}")


def main() -> None:
    typer.run(build)
