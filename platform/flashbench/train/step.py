"""One rank's side of a training run: its engine, its samples, its optimiser steps.

It knows no checkpoint and no draft by name.
"""

from dataclasses import dataclass, field
from pathlib import Path

import ray.train.torch
import torch
import torch.distributed as dist

from flashbench.draft_settings import section_for
from flashbench.dump.manifest import Manifest
from flashbench.settings import Settings, TrainSettings
from flashbench.train.data import Plan, Reader, Samples
from flashbench.train.engine import start_engine
from flashbench.train.evaluate import Sums
from flashbench.train.features import open_features
from flashbench.train.progress import Progress, tell
from flashbench.train.start import Start
from specflash.drafts import Draft
from specflash.drafts.anchors import trained_slots
from specflash.drafts.collate import add_noise
from specflash.drafts.store import make_draft
from specflash.targets import DTYPES, load_ends
from specflash.targets.base import Ends


@dataclass
class Run:
    """engine      a DeepSpeedEngine around the draft
    first_step  optimiser steps that were done when this process began
    lines       one line per finished epoch, for the driver to show
    """

    engine: object
    train: TrainSettings
    samples: Reader
    plan: Plan
    held_out: Reader
    held_out_plan: Plan
    rank: int
    target_fingerprint: str
    progress: Path
    first_step: int = 0
    lines: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, settings: Settings, name: str, vocabulary_ids: list[int] | None, start: Start | None,
              progress: str) -> "Run":
        train, world, rank = settings.train, dist.get_world_size(), dist.get_rank()
        device, dtype = ray.train.torch.get_device(), DTYPES[train.precision]
        store = open_features(settings, device)
        samples = Samples.of(store, train, world)
        draft = _draft(settings, name, vocabulary_ids, start, store.manifest)
        inner = draft.inner_layer is not None
        return cls(
            engine=start_engine(draft, train, samples.train_plan.steps_per_epoch * train.epochs),
            train=train, rank=rank, target_fingerprint=store.manifest.fingerprint, progress=Path(progress),
            samples=Reader(store, samples.train, dtype, device, inner), plan=samples.train_plan,
            held_out=Reader(store, samples.held_out, dtype, device, inner), held_out_plan=samples.held_out_plan)

    @property
    def draft(self) -> Draft:
        return self.engine.module

    @property
    def total_steps(self) -> int:
        return self.plan.steps_per_epoch * self.train.epochs

    def train_epoch(self, epoch: int) -> Sums:
        """Every sample once; returns the sums of all ranks."""
        first = epoch * self.plan.steps_per_epoch
        sums = Sums.empty(self.draft.config.k, self.engine.device)
        for step in range(first, first + self.plan.steps_per_epoch):
            self.train_step(step, sums)
            self.tell()
        return sums.over_ranks()

    def train_step(self, step: int, sums: Sums) -> None:
        """One optimiser step: the gradient of the mean over the trained rows of all its batches.

        A batch's loss is the mean over its own rows, so it counts by its share of the step's rows;
        how samples are cut into batches and spread over ranks then changes nothing. A step without
        any row (answers of one token) has no gradient.
        """
        batches = [self.samples.batch(places) for places in self.plan.at(step, self.rank)]
        rows = torch.tensor([trained_slots(batch.answer_mask, self.draft.loss_slots).sum() for batch in batches],
                            device=self.engine.device)
        all_rows = rows.sum()
        dist.all_reduce(all_rows)
        # DeepSpeed divides by the ranks and the accumulated batches.
        shares = rows / all_rows.clamp(min=1) * len(batches) * self.plan.world      # [accumulate]
        self.draft.note_progress(step / self.total_steps)
        torch.manual_seed(((self.train.seed * 1_000_003 + step) * self.plan.world + self.rank) % 2**63)
        for batch, share in zip(batches, shares, strict=True):
            parts = self.engine(add_noise(batch, self.train.noise, None))
            self.engine.backward(parts.loss * share)
            self.engine.step()
            sums.add(parts)

    def tell(self, lines: list[str] | None = None) -> None:
        """Let the driver know how far this run is."""
        self.lines = self.lines if lines is None else lines
        if self.rank == 0:
            tell(self.progress, Progress(self.first_step, self.engine.global_steps, self.total_steps,
                                         tuple(self.lines)))


def _draft(settings: Settings, name: str, vocabulary_ids: list[int] | None, start: Start | None,
           manifest: Manifest) -> Draft:
    """The draft with its first weights, the same on every rank, attached to the target's tables."""
    torch.manual_seed(settings.train.seed)
    chosen = None if vocabulary_ids is None else torch.tensor(vocabulary_ids)
    device = ray.train.torch.get_device()
    draft = make_draft(name, section_for(settings, name, manifest.inner), manifest.width, chosen).to(device)
    if start is not None:
        start.put_into(draft)
    ends = load_ends(settings.target.name, settings.target.weights, settings.train.precision)
    return draft.attach(Ends(ends.embedding.to(device), ends.lm_head.to(device)))
