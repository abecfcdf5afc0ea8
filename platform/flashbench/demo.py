"""The main job from end to end, in one command: each stage announced, timed, and reused where finished.

It knows the order of the stages and nothing of their insides.
"""

import shlex
import shutil
import sys
import time
from pathlib import Path

import torch

from flashbench.bench import experiments, measure, publish
from flashbench.bench.table import show_summary
from flashbench.console import clock, note, say, step
from flashbench.drafts import weights_of
from flashbench.dump.pipeline import run_dump
from flashbench.prepare import run_prepare
from flashbench.settings import Settings, save_settings
from flashbench.track import tracking_uri
from flashbench.train import run_train
from flashbench.tree import moved
from flashbench.verify import run_verify

FAST_TASK_LIMIT, FAST_TASK_TOKENS, FAST_CLIPS = 1, 32, 4
FAST = {
    "scenes": {"train": 8, "test": 8},
    "dump": {"max_new_tokens": 24, "batch": 4},
    "train": {"epochs": 2},
    "verify": {"prompts": 2, "max_new_tokens": 12, "exact_prompts": 2, "temperatures": [1.0]},
    "bench": {"warmups": 1, "noise_every": 1, "noise_band": 0.25},  # so few and short answers are noisy
    "quotable": False,
}
"""What a shortened demo overrides; every task is also cut to FAST_TASK_LIMIT prompts of FAST_TASK_TOKENS tokens."""


def run_demo(settings: Settings, fast: bool = False) -> bool:
    """Prepare, dump, train, verify, bench, report, MLflow; returns whether every comparison is valid.

    Further experiments of `bench.also` go through the same stages, each in its own run folder, and all are measured
    together.

    Where an answer differs from vanilla's nothing is measured: numbers of a broken engine are none.
    """
    started = time.monotonic()
    if fast:
        settings = shortened_all(settings)
        note("A shortened demo: its numbers are not for quoting.")
    torch.set_num_threads(settings.threads)
    targets = experiments(settings)
    for one in targets:
        if len(targets) > 1:
            note(f"\n{one.target.name}, in {one.run}")
        if not _drafts_that_are_lossless(one):
            note(f"error: the drafts are not lossless, so they are not timed; see {one.run / 'verify.json'}")
            return False
    with step("bench: every method on the same held-out prompts"):
        summary = measure(settings)
    with step("publish: the report and MLflow"):
        lost = publish(settings, summary)
    for line in lost:
        note(f"not recorded in MLflow: {line}")
    show_summary(summary)
    _say_where(settings, time.monotonic() - started)
    if not summary["valid"]:
        note("error: some speed-ups are refused; the reasons stand under the table and in the report")
    return summary["valid"]


def _drafts_that_are_lossless(settings: Settings) -> bool:
    """All that comes before the measurement, for one target; returns the gate's verdict."""
    save_settings(settings, settings.run / "settings.yaml")
    with step("prepare: draw the scenes"):
        run_prepare(settings)
    with step("dump: features of the frozen target (Ray Data)"):
        run_dump(settings)
    with step("train: the drafts (Ray Train + DeepSpeed)"):
        run_train(settings)
    with step("verify: are the drafts lossless?"):
        return bool(run_verify(settings))


def shortened_all(settings: Settings) -> Settings:
    """Shortened, and so is every experiment that is measured with it, in files beside its result."""
    short = shortened(settings)
    others = [shortened(one) for one in experiments(settings)[1:]]
    files = [short.run / f"also-{one.target.name}.yaml" for one in others]
    for one, file in zip(others, files, strict=True):
        save_settings(one, file)
    return short.model_copy(update={"bench": short.bench.model_copy(update={"also": tuple(files)})})


def shortened(settings: Settings) -> Settings:
    """The same line through all stages with less of everything, in a run folder of its own."""
    tree = settings.model_dump(mode="json")
    for key, value in FAST.items():
        tree[key] = {**tree[key], **value} if isinstance(value, dict) else value
    for clips in ("train_clips", "test_clips"):
        tree["scenes"][clips] = min(tree["scenes"][clips], FAST_CLIPS)
    for task in tree["bench"]["tasks"].values():
        task["source"]["limit"] = min(task["source"]["limit"] or FAST_TASK_LIMIT, FAST_TASK_LIMIT)
        task["max_new_tokens"] = min(task["max_new_tokens"], FAST_TASK_TOKENS)
    return Settings.model_validate(moved(tree, str(settings.run), f"{settings.run}-fast"))


def _say_where(settings: Settings, seconds: float) -> None:
    report, config = settings.run / "report.html", settings.run / "settings.yaml"
    say(f"""
Done in {clock(seconds)}. Everything is in {settings.run}:
  report         {report}
  summary        {settings.run / "summary.json"}
  every answer   {settings.run / "bench" / "rows.parquet"}
  losslessness   {settings.run / "verify.json"}
  drafts         {", ".join(str(settings.draft_folder(name)) for name in settings.drafts if weights_of(name) == name)}

Look at it:
  {command("python")} -m webbrowser {report.resolve().as_uri()}
  {command("mlflow")} ui --backend-store-uri {tracking_uri(settings)}
  {command("specflash")} serve --config {config}  # an OpenAI endpoint; its page races the methods""")


def command(name: str) -> str:
    """How the shell that called us calls a program of this environment, which may not be an activated one."""
    ours = Path(sys.executable).parent / name
    found = shutil.which(name)
    if not ours.is_file() or (found and Path(found).absolute() == ours.absolute()):
        return name
    here = Path.cwd()
    return shlex.quote(str(ours.relative_to(here) if ours.is_relative_to(here) else ours))
