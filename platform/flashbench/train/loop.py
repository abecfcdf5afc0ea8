"""What each Ray Train worker runs: optimiser steps, held-out figures, checkpoints, export.

It knows no draft by name: the catalogue makes it, and every draft is trained by these same lines.
"""

import time
from typing import TypedDict

from flashbench.ray_session import use_threads
from flashbench.settings import Settings
from flashbench.train import checkpoint
from flashbench.train.evaluate import Sums, evaluate, simulated_accept_length
from flashbench.train.export import export
from flashbench.train.start import Start
from flashbench.train.step import Run


class LoopConfig(TypedDict):
    """What the driver hands to every worker.

    settings        resolved, paths absolute
    vocabulary_ids  ids the draft may propose; None: all
    start           the draft whose weights it starts from; None: from scratch
    recipe          what the weights follow from, for the record beside them
    progress        the file that rank 0 tells its steps to
    """

    settings: Settings
    draft: str
    vocabulary_ids: list[int] | None
    start: Start | None
    recipe: dict[str, str]
    progress: str


def train_loop(config: LoopConfig) -> None:
    """Train one draft, from this run's last checkpoint if there is one, and export it."""
    train = config["settings"].train
    use_threads(train.cpus_per_worker)
    run = Run.start(config["settings"], config["draft"], config["vocabulary_ids"], config["start"],
                    config["progress"])
    curves = checkpoint.restore(run.engine)
    run.first_step = run.engine.global_steps
    run.tell([line(curve) for curve in curves])
    for epoch in range(run.engine.global_steps // run.plan.steps_per_epoch, train.epochs):
        started = time.perf_counter()
        trained = run.train_epoch(epoch)
        held_out = evaluate(run.engine.module, run.held_out, run.held_out_plan, run.rank)
        curves.append(curve(epoch, run, trained, held_out, time.perf_counter() - started))
        if (epoch + 1) % train.checkpoint_every == 0 or epoch + 1 == train.epochs:
            checkpoint.save(run.engine, curves, {"epoch": epoch + 1, "loss": curves[-1]["loss"]})
        run.tell([line(curve) for curve in curves])
    export(run, config["settings"], config["recipe"], curves)


def curve(epoch: int, run: Run, trained: Sums, held_out: Sums, seconds: float) -> dict:
    """One epoch's entry of training.json; `epoch` counts from 1, `seconds` includes evaluation."""
    return {
        "epoch": epoch + 1,
        "steps": run.engine.global_steps,
        "loss": trained.loss,
        "held_out_loss": held_out.loss,
        "slot_accuracy": held_out.slot_accuracy,
        "simulated_accept_length": simulated_accept_length(held_out.slot_accuracy),
        "seconds": seconds,
    }


def line(curve: dict) -> str:
    """An epoch for people."""
    slots = " ".join(f"{accuracy:.2f}" for accuracy in curve["slot_accuracy"])
    return (f"epoch {curve['epoch']}: loss {curve['loss']:.4f}, held out {curve['held_out_loss']:.4f}, "
            f"slots {slots}, simulated accept length {curve['simulated_accept_length']:.2f}, "
            f"{curve['seconds']:.0f} s")
