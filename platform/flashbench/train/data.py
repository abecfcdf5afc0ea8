"""Which samples each rank sees at which step, and reading them. It knows no draft and no optimiser.

Everything follows from (seed, step): nothing is remembered between steps, so training continues
exactly from any of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from flashbench.dump.manifest import Manifest
from flashbench.dump.shards import Row
from flashbench.settings import TrainSettings
from specflash.drafts.collate import collate
from specflash.drafts.vocabulary import frequent_ids
from specflash.errors import UserError
from specflash.records import Batch, Features

WINDOW = 16
"""Micro-steps whose samples are sorted by length together: little padding, order still random."""


def split(ids: Iterable[str], share: float, at_least: int = 1) -> tuple[list[str], list[str]]:
    """(train, held out), in the order of ids. A sample's side follows from its own id.

    share     of all samples that is held out, on average
    at_least  this many are held out, those with the smallest hashes, where `share` gives fewer
    """
    hashes = {id: int(sha256(id.encode()).hexdigest()[:16], 16) / 16**16 for id in ids}
    held = {id for id, value in hashes.items() if value < share}
    held |= set(sorted(hashes, key=hashes.__getitem__)[:at_least])
    return sorted(hashes.keys() - held), sorted(held)


@dataclass(frozen=True)
class Plan:
    """Batches of similar length: every sample once per epoch, the same number of batches per rank.

    lengths     tokens of each sample; samples are numbered by their place here
    batch       samples per rank and micro-step. Ranks and micro-steps share the samples evenly, so
                a batch may have fewer (and, where samples are few, more)
    accumulate  micro-steps per optimiser step
    """

    lengths: tuple[int, ...]
    batch: int
    world: int
    accumulate: int
    seed: int

    def __post_init__(self) -> None:
        if len(self.lengths) < self.world * self.accumulate:
            raise UserError(f"{len(self.lengths)} samples are too few for {self.world} workers × "
                            f"{self.accumulate} accumulated batches: dump more samples, or lower "
                            "train.workers or train.accumulate")

    @property
    def steps_per_epoch(self) -> int:
        """Optimiser steps of one epoch; no rank is ever without a sample."""
        ranks = self.world * self.accumulate
        return min(ceil(len(self.lengths) / (self.batch * ranks)), len(self.lengths) // ranks)

    def at(self, step: int, rank: int) -> list[list[int]]:
        """The micro-batches of a rank at an optimiser step counted from the start of the run."""
        epoch, step = divmod(step, self.steps_per_epoch)
        groups = _groups(self, epoch)[step * self.accumulate : (step + 1) * self.accumulate]
        return [list(group[rank :: self.world]) for group in groups]


@lru_cache(maxsize=4)
def _groups(plan: Plan, epoch: int) -> tuple[tuple[int, ...], ...]:
    """The samples of each micro-step of an epoch, all ranks together."""
    random = np.random.default_rng((plan.seed, epoch))
    order = random.permutation(len(plan.lengths))
    window = WINDOW * plan.batch * plan.world
    for start in range(0, len(order), window):
        piece = order[start : start + window]
        order[start : start + window] = sorted(piece, key=plan.lengths.__getitem__)
    groups = np.array_split(order, plan.steps_per_epoch * plan.accumulate)
    return tuple(tuple(groups[place].tolist()) for place in random.permutation(len(groups)))


class Source(Protocol):
    """Samples with their features, in the order of ids: a FeatureStore, or a target that makes them (online.py)."""

    folder: Path
    manifest: Manifest
    rows: Sequence[Row]

    def ids(self) -> list[str]: ...

    def lengths(self) -> list[int]: ...

    def answer_ids(self, key: str) -> torch.Tensor: ...

    def read(self, key: str, inner: bool = True) -> Features: ...


@dataclass(frozen=True)
class Samples:
    """The samples of a run on their two sides, and how each side is cut into batches.

    A plan's numbers are places in the list of ids of its side.
    """

    train: list[str]
    train_plan: Plan
    held_out: list[str]
    held_out_plan: Plan

    @classmethod
    def of(cls, store: Source, train: TrainSettings, world: int) -> "Samples":
        """Raises UserError where there are too few for `world` ranks."""
        ids, held_out = split(trainable_ids(store), train.held_out, at_least=world)
        tokens = dict(zip(store.ids(), store.lengths(), strict=True))
        plan = Plan(tuple(tokens[id] for id in ids), train.batch, world, train.accumulate, train.seed)
        held_out_plan = Plan(tuple(tokens[id] for id in held_out), train.batch, world, accumulate=1, seed=0)
        return cls(ids, plan, held_out, held_out_plan)


class Reader:
    """Named samples of a store as batches in the dtype and on the device of the draft.

    inner  with inner states, where the store has them
    """

    def __init__(self, store: Source, ids: Sequence[str], dtype: torch.dtype, device: torch.device,
                 inner: bool = False):
        self._store, self._ids, self._dtype, self._device, self._inner = store, ids, dtype, device, inner

    def batch(self, places: Sequence[int]) -> Batch:
        batch = collate([self._store.read(self._ids[place], self._inner) for place in places])
        wide = {"features": batch.features, "inner": batch.inner}
        return replace(batch, **{name: states if states is None else states.to(self._dtype)
                                 for name, states in wide.items()}).to(self._device)


def trainable_ids(store: Source) -> list[str]:
    """Samples with something to learn: a draft's first slot needs two answer tokens in a row."""
    return [row.id for row in store.rows if row.answer_tokens >= 2]


def answer_vocabulary(store: Source, size: int, vocabulary: int) -> torch.Tensor:
    """The `size` commonest answer tokens of the store, most frequent first.

    The token that most answers close with is always among them: it is the end of the turn.
    """
    answers = [store.answer_ids(id) for id in trainable_ids(store)]
    closing = Counter(int(answer[-1]) for answer in answers).most_common(1)
    return frequent_ids(answers, size, vocabulary, [token for token, _ in closing])
