"""Laws of the optimiser step, with a real DeepSpeed engine in this process (one rank)."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from flashbench.dump.store import FeatureStore
from flashbench.settings import Settings
from flashbench.train.data import Plan, Reader
from flashbench.train.engine import start_engine
from flashbench.train.evaluate import Sums
from flashbench.train.schedule import rate_share
from flashbench.train.step import Run
from specflash.drafts import Draft
from specflash.drafts.store import make_draft
from specflash.targets import DTYPES, load_ends
from tests.flashbench.train.conftest import WIDTH

IDS = ["sample-1", "sample-3", "sample-10", "sample-16"]
"""Answers of 9, 11, 8 and 9 tokens: batches have different numbers of rows."""

DRAFTS = {"specflash": {"k": 3, "latents": 2, "head_dim": 16, "dropout": 0.0}, "eagle": {"k": 3, "head_dim": 16}}


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory):
    """A process group of this process alone; what DeepSpeed would compile goes to the folder."""
    folder = tmp_path_factory.mktemp("ranks")
    variables = {"TORCH_EXTENSIONS_DIR": str(folder / "compiled"), "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    dist.init_process_group("gloo", init_method=f"file://{folder}/group", rank=0, world_size=1)
    yield folder / "compiled"
    dist.destroy_process_group()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


def draft_of(settings: Settings, name: str) -> Draft:
    torch.manual_seed(0)
    ends = load_ends(settings.target.name, settings.target.weights, settings.train.precision)
    return make_draft(name, DRAFTS[name], WIDTH).attach(ends)


def run_of(settings: Settings, name: str = "specflash", steps: int = 10, **train: object) -> Run:
    recipe = settings.train.model_copy(update={"noise": 0.0, "zero_stage": 0, **train})
    settings = settings.model_copy(update={"train": recipe})
    store = FeatureStore(settings.dump_folder)
    reader = Reader(store, IDS, DTYPES[recipe.precision], torch.device("cpu"))
    lengths = tuple(len(store.read(id).ids) for id in IDS)
    plan = Plan(lengths, recipe.batch, 1, recipe.accumulate, seed=0)
    return Run(engine=start_engine(draft_of(settings, name), recipe, steps), train=recipe, rank=0,
               samples=reader, plan=plan, held_out=reader, held_out_plan=plan,
               target_fingerprint="", progress=Path())


def gradients(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: parameter.grad.clone() for name, parameter in module.named_parameters()}


def take_step(run: Run, step: int = 0) -> dict[str, torch.Tensor]:
    """Do a step; returns the gradient the optimiser got."""
    seen, finish = {}, run.engine.step

    def spy() -> None:
        seen.update(gradients(run.draft))
        finish()

    run.engine.step = spy
    run.train_step(step, Sums.empty(run.draft.config.k, torch.device("cpu")))
    run.engine.step = finish
    return seen


@pytest.mark.parametrize("name", list(DRAFTS))
@pytest.mark.parametrize(("batch", "accumulate"), [(4, 1), (2, 2), (1, 4)])
def test_the_gradient_is_that_of_the_mean_over_all_rows_however_samples_are_cut(
        one_rank, experiment, name, batch, accumulate):
    run = run_of(experiment, name, batch=batch, accumulate=accumulate)
    reference = draft_of(experiment, name).train()
    reference.loss(run.samples.batch(range(len(IDS)))).loss.backward()
    wanted, got = gradients(reference), take_step(run)
    assert run.engine.global_steps == 1
    assert wanted.keys() == got.keys()
    for parameter, gradient in wanted.items():
        torch.testing.assert_close(got[parameter], gradient, rtol=1e-4, atol=1e-7)


def test_the_learning_rate_follows_the_schedule_step_by_step(one_rank, experiment):
    run = run_of(experiment, steps=6, batch=4, warmup_share=0.3)
    rates = []
    for step in range(6):
        rates.append(run.engine.get_lr()[0])
        take_step(run, step)
    assert rates == pytest.approx([experiment.train.lr * rate_share(step, 2, 6) for step in range(6)])


def test_updates_too_small_for_bfloat16_live_on_in_the_fp32_master_weights(one_rank, experiment):
    from deepspeed.utils import safe_get_full_fp32_param
    run = run_of(experiment, batch=4, precision="bfloat16", zero_stage=1, lr=1e-7, weight_decay=0.0)
    ones = run.draft.feature_norm.weight  # next to 1, bfloat16 has no number nearer than 0.004
    run.train_step(0, Sums.empty(3, torch.device("cpu")))
    assert ones.dtype == torch.bfloat16
    assert torch.equal(ones, torch.ones_like(ones))
    master = safe_get_full_fp32_param(ones)
    assert master.dtype == torch.float32
    assert not torch.equal(master, torch.ones_like(master))


def test_the_same_step_again_gives_the_same_weights(one_rank, experiment):
    """Dropout and noise follow from (seed, step, rank), so a resumed run repeats an uninterrupted one."""
    def after() -> list[torch.Tensor]:
        run = run_of(experiment, batch=4, noise=0.1)
        torch.rand(3)
        run.train_step(0, Sums.empty(3, torch.device("cpu")))
        return list(run.draft.parameters())

    first, again = after(), after()
    assert all(torch.equal(left, right) for left, right in zip(first, again, strict=True))


class Terse(Reader):
    """Samples whose answers are their first token only, so that no slot is trained."""

    def batch(self, places):
        batch = super().batch(places)
        first = batch.answer_mask & (batch.answer_mask.cumsum(1) == 1)
        return replace(batch, answer_mask=first)


@pytest.mark.parametrize("name", list(DRAFTS))
def test_a_step_without_any_trained_row_has_no_gradient_and_is_finite(one_rank, experiment, name):
    run = run_of(experiment, name, batch=2, accumulate=2, weight_decay=0.0)
    run.samples = Terse(FeatureStore(experiment.dump_folder), IDS, torch.float32, torch.device("cpu"))
    assert not any(gradient.any() for gradient in take_step(run).values())
    assert all(parameter.isfinite().all() for parameter in run.draft.parameters())


@pytest.mark.parametrize("seed", [0, 2**63 - 1])
def test_every_seed_of_the_settings_can_be_trained_with(one_rank, experiment, seed):
    take_step(run_of(experiment, batch=4, seed=seed))


def test_nothing_is_compiled(one_rank, experiment):
    run_of(experiment)
    assert not list(one_rank.rglob("*"))


def test_the_draft_is_told_before_every_step_how_far_the_training_is_and_after_a_restart_too(one_rank, experiment):
    """Told from the step's number alone: an epoch done by a new process hears what it would have heard."""
    def told(epochs: range) -> list[float]:
        run, heard = run_of(experiment, batch=2, epochs=3, weight_decay=0.0), []
        run.draft.note_progress = heard.append
        for epoch in epochs:
            for step in range(epoch * run.plan.steps_per_epoch, (epoch + 1) * run.plan.steps_per_epoch):
                take_step(run, step)
                assert len(heard) == step - epochs.start * run.plan.steps_per_epoch + 1
        return heard

    whole = told(range(3))
    assert whole == [step / 6 for step in range(6)]
    assert told(range(1, 3)) == whole[2:]


def test_a_step_with_the_draft_s_own_words_repeats_too(one_rank, experiment, monkeypatch):
    """Its coins follow from (seed, step, rank), as dropout does."""
    monkeypatch.setitem(DRAFTS, "specflash", {**DRAFTS["specflash"], "own_words": 0.9, "own_words_after": 0.0})

    def after(step: int, **train: object) -> dict[str, torch.Tensor]:
        run = run_of(experiment, batch=4, epochs=2, **train)
        run.draft.refiner.up.data.normal_(generator=torch.Generator().manual_seed(0))
        return take_step(run, step)

    first, again = after(1), after(1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    monkeypatch.setitem(DRAFTS, "specflash", {**DRAFTS["specflash"], "own_words": 0.0})
    assert any(not torch.equal(first[name], gradient) for name, gradient in after(1).items())
