"""Training every draft of an experiment with one recipe, as the driver sees it. It knows no draft by name."""

import errno
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import torch
from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig, WorkerGroupError
from ray.train.torch import TorchConfig, TorchTrainer

from flashbench.console import note
from flashbench.draft_settings import draft_config, section_for
from flashbench.lock import sole_writer
from flashbench.ray_session import cluster_is_given, ray_session
from flashbench.settings import Settings, TrainSettings
from flashbench.track import log_training
from flashbench.train.data import Samples, Source, answer_vocabulary
from flashbench.train.features import check_bytes, checked_features
from flashbench.train.loop import LoopConfig, train_loop
from flashbench.train.progress import show_while
from flashbench.train.recipe import RECORD, finished_record, recipe_hash, recipe_of
from flashbench.train.start import Start, start_of
from specflash.catalogue import nearest, pick
from specflash.drafts import DRAFTS, Draft
from specflash.drafts.store import make_draft
from specflash.errors import UserError, one_line
from specflash.files import DiskFull
from specflash.targets import load_ends

CHECKPOINTS_KEPT = 2
NO_SPACE = os.strerror(errno.ENOSPC)
LONGEST_REASON = 200

RAY_TRAIN = {
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",  # how soon a report is picked up
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "300",  # a loaded machine imports slowly
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # relative import paths stay valid
}
ALONE = {"RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0"}  # nobody takes this machine back; the watcher is one more process


@dataclass(frozen=True)
class TrainSummary:
    """What came out of training one draft; the figures are the last epoch's, on held-out samples.

    reused  it was finished before, with the same recipe
    """

    draft: str
    folder: Path
    reused: bool
    parameters: int
    steps: int
    seconds: float
    held_out_loss: float
    slot_accuracy: tuple[float, ...]
    simulated_accept_length: float


@dataclass(frozen=True)
class Job:
    """A draft that is to be there afterwards.

    start  the draft whose weights training starts from; None: from scratch
    done   the record of one that is there already
    """

    draft: str
    folder: Path
    recipe: dict[str, str]
    start: Start | None
    done: dict | None


def run_train(settings: Settings, drafts: Sequence[str] | None = None) -> list[TrainSummary]:
    """Train the drafts of the settings (or those named), one after the other, with one recipe.

    A finished draft of the same recipe is reused; a killed training continues from its last
    checkpoint. Raises UserError for an unknown draft, features of another target or source, too few
    samples, and a finished draft of another recipe.
    """
    settings = settings.placed()
    names = _names(settings, drafts)
    store = checked_features(settings)
    Samples.of(store, settings.train, settings.train.workers)
    jobs = [job_of(settings, store, name) for name in names]
    missing = [job for job in jobs if job.done is None]
    if missing:
        with sole_writer(settings.run / "drafts", "training"):
            _train_missing(settings, missing, store)
    return [_summary(settings, job) for job in jobs]


def _train_missing(settings: Settings, missing: list[Job], store: Source) -> None:
    train = settings.train
    check_bytes(store)
    gpus = train.workers if train.gpu else 0
    with ray_session(settings, num_cpus=train.workers * train.cpus_per_worker, num_gpus=gpus):
        for job in missing:
            fit(settings, job, store)


def job_of(settings: Settings, store: Source, name: str) -> Job:
    """What training `name` means.

    Raises UserError where a draft of another recipe is there, and where it cannot start as it should.
    """
    draft = _shape(settings, store, name)
    start = start_of(settings, name, store.manifest.fingerprint, store.manifest.inner)
    recipe, folder = recipe_of(settings, draft, store, start), settings.draft_folder(name)
    return Job(name, folder, recipe, start, finished_record(folder, recipe))


def fit(settings: Settings, job: Job, store: Source,
        loop: Callable[[LoopConfig], None] = train_loop) -> None:
    """Train one draft on the workers of the Ray cluster that is there, from its last checkpoint after a failure."""
    train, name = settings.train, f"{job.draft}-{recipe_hash(job.recipe)}"
    progress = settings.run / "checkpoints" / name / "progress.json"
    progress.parent.mkdir(parents=True, exist_ok=True)
    for variable, value in (RAY_TRAIN | ({} if cluster_is_given() else ALONE)).items():
        os.environ.setdefault(variable, value)
    config = LoopConfig(
        settings=settings, draft=job.draft, recipe=job.recipe, start=job.start,
        vocabulary_ids=job.start.vocabulary_ids if job.start else _vocabulary(settings, job.draft, store),
        progress=str(progress))
    _with_retries(settings, lambda: show_while(_trainer(train, name, config, loop).fit, progress, f"train {job.draft}"))


def _trainer(train: TrainSettings, name: str, config: LoopConfig, loop: Callable[[LoopConfig], None]) -> TorchTrainer:
    """One attempt. Ray Train itself tries no further: it would try again whatever failed."""
    run = RunConfig(name=name, storage_path=str(config["settings"].run / "checkpoints"),
                    failure_config=FailureConfig(max_failures=0),
                    checkpoint_config=CheckpointConfig(num_to_keep=CHECKPOINTS_KEPT))
    return TorchTrainer(
        loop, train_loop_config=config, torch_config=TorchConfig(backend="nccl" if train.gpu else "gloo"),
        scaling_config=ScalingConfig(num_workers=train.workers, use_gpu=train.gpu,
                                     resources_per_worker={"CPU": train.cpus_per_worker}),
        run_config=run)


def _with_retries(settings: Settings, attempt: Callable[[], None]) -> None:
    """Attempt it again where workers failed, `train.max_failures` times; what the user has to mend is told at once."""
    for failures in count(1):
        try:
            attempt()
            return
        except WorkerGroupError as error:
            for failure in error.worker_failures.values():
                if isinstance(failure, UserError):
                    raise failure from None
                if NO_SPACE in str(failure):
                    raise DiskFull(f"the disk below {settings.run} is full: make room and run again (training goes on "
                                   "from its last checkpoint)") from None
            if failures > settings.train.max_failures >= 0:
                raise
            reason = one_line(next(iter(error.worker_failures.values())))[:LONGEST_REASON]
            note(f"a worker failed ({reason}); training goes on from its last checkpoint, failure {failures}")


def _names(settings: Settings, drafts: Sequence[str] | None) -> list[str]:
    for name in drafts or ():
        if name not in settings.drafts:
            raise UserError(f"the settings have no draft `{name}`{nearest(name, settings.drafts)}; "
                            f"they have: {', '.join(settings.drafts)}")
        kind = pick(DRAFTS, name, "draft")
        if not kind.trainable:
            raise UserError(f"`{name}` has nothing to train" + (
                f": it drafts with the weights of `{kind.weights_of}`, train that one" if kind.weights_of else ""))
    return list(drafts) if drafts else [name for name in settings.drafts if pick(DRAFTS, name, "draft").trainable]


def _shape(settings: Settings, store: Source, name: str) -> Draft:
    """The draft without memory for its weights: for its settings, checked and complete."""
    width = store.manifest.width
    size = draft_config(name, settings.drafts[name], width).vocabulary
    section = section_for(settings, name, store.manifest.inner)
    with torch.device("meta"):
        return make_draft(name, section, width, torch.zeros(size, dtype=torch.long) if size else None)


def _vocabulary(settings: Settings, draft: str, store: Source) -> list[int] | None:
    size = draft_config(draft, settings.drafts[draft], store.manifest.width).vocabulary
    if not size:
        return None
    ends = load_ends(settings.target.name, settings.target.weights, settings.target.dtype)
    return answer_vocabulary(store, size, len(ends.lm_head)).tolist()


def _summary(settings: Settings, job: Job) -> TrainSummary:
    record = job.done or json.loads((job.folder / RECORD).read_text())
    if job.done:
        note(f"{job.folder} is finished: reused")
    for lost in log_training(settings, job.draft, record["curves"]):
        note(f"not recorded in MLflow: {lost}")
    last = record["curves"][-1]
    return TrainSummary(
        draft=job.draft, folder=job.folder, reused=job.done is not None,
        parameters=record["parameters"], steps=record["steps"], seconds=record["seconds"],
        held_out_loss=last["held_out_loss"], slot_accuracy=tuple(last["slot_accuracy"]),
        simulated_accept_length=last["simulated_accept_length"])
