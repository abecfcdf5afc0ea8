"""The DeepSpeed engine around a draft. It knows no data, no epochs and no Ray."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from flashbench.settings import TrainSettings
from flashbench.train.schedule import rate_share, warmup_steps

BETAS = (0.9, 0.95)


def start_engine(model: nn.Module, train: TrainSettings, total_steps: int):
    """Wrap `model` for data-parallel training; the process group must exist already.

    total_steps   optimiser steps of the whole run, which the learning rate is planned for
    Returns the DeepSpeedEngine: `engine(batch)`, `engine.backward(loss)`, `engine.step()`.
    """
    deepspeed = import_deepspeed(train.gpu)
    optimizer = torch.optim.AdamW(model.parameters(), train.lr, betas=BETAS,
                                  weight_decay=train.weight_decay)
    share = partial(rate_share, warmup=warmup_steps(total_steps, train.warmup_share), total=total_steps)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=deepspeed_config(train),
                                      lr_scheduler=lambda inner: LambdaLR(inner, share))
    return engine


def deepspeed_config(train: TrainSettings) -> dict:
    """DeepSpeed's own settings, every value given: `auto` is understood by other libraries only.

    With bfloat16 the module computes in bfloat16 and ZeRO keeps the fp32 master weights.
    """
    return {
        "train_micro_batch_size_per_gpu": train.batch,
        "gradient_accumulation_steps": train.accumulate,
        "gradient_clipping": train.clip_norm,
        "bf16": {"enabled": train.precision == "bfloat16"},
        "zero_optimization": {"stage": train.zero_stage},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "steps_per_print": 2**31,
    }


def import_deepspeed(gpu: bool):
    """DeepSpeed for this kind of worker, without its compiled communication kernel.

    On a CPU, DeepSpeed compiles a shared-memory all-reduce when its backend starts (two minutes of
    g++), which only its inference kernels ever call. With no op declared compatible it uses the
    process group, which training uses in any case, and needs no compiler.
    """
    os.environ.setdefault("DS_ACCELERATOR", "cuda" if gpu else "cpu")
    # Its autotuner loads MLflow, its Muon optimiser a compiler: seconds of every worker's start, for what nothing uses.
    with hidden("mlflow"), nothing_compiled():
        import deepspeed
    deepspeed.utils.logger.setLevel(logging.WARNING)
    if not gpu:
        deepspeed.ops.__compatible_ops__ = {}
    return deepspeed


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """What is decorated with `torch.compile()` inside stays as it is written."""
    compile = torch.compile
    torch.compile = lambda *_, **__: lambda function: function
    try:
        yield
    finally:
        torch.compile = compile


@contextmanager
def hidden(module: str) -> Iterator[None]:
    """What is imported inside does not find `module`, unless that is loaded already."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None
    try:
        yield
    finally:
        del sys.modules[module]
