"""The plan: which prompt is decoded for which target, at which temperature, by whom and how often.

It follows from the settings alone. It loads no model and measures nothing.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from flashbench.bench.place import as_measured
from flashbench.bench.prompts import BenchPrompt, bench_prompts
from flashbench.bench.rows import AGAIN, VANILLA, key_of
from flashbench.bench_settings import BenchSettings
from flashbench.settings import Settings, load_settings
from specflash.errors import UserError
from specflash.sampling import Sampling

SHOWN_PER_TASK = 2
OWN = ("tasks", "methods", "also", "assistant")
"""What a further experiment says itself; in all else it is measured as the plan's own."""


@dataclass(frozen=True)
class Piece:
    """One prompt for one target at one temperature: measured whole, on one engine.

    methods  who decodes it in every repeat: ours, and where it is their turn vanilla again and the controls
    shown    keep the text of each token, for the report
    """

    target: str
    dtype: str
    threads: int
    prompt: BenchPrompt
    temperature: float
    methods: tuple[str, ...]
    repeats: int
    seed: int
    shown: bool

    @property
    def key(self) -> str:
        return key_of(self.target, self.temperature, self.prompt.key)

    def sampling(self, repeat: int) -> Sampling:
        return Sampling(self.temperature, seed=self.seed + repeat, max_new_tokens=self.prompt.max_new_tokens)

    def turns(self, repeat: int) -> list[str]:
        """Who runs when: the same order in every run, another one for every prompt and repeat."""
        methods = list(self.methods)
        random.Random(f"{self.seed}/{self.key}/{repeat}").shuffle(methods)
        return methods


@dataclass(frozen=True)
class Experiment:
    """One target with its drafts, and all that is measured on it; settings: as whoever measures it has them."""

    settings: Settings
    pieces: tuple[Piece, ...]


def make_plan(settings: Settings) -> list[Experiment]:
    """Raises UserError for a task without prompts, and for experiments that do not go together."""
    return [Experiment(one, tuple(_pieces(one))) for one in map(as_measured, experiments(settings))]


def own_methods(settings: Settings) -> list[str]:
    """The methods of ours: vanilla first, always."""
    return list(dict.fromkeys((VANILLA, *settings.bench.methods)))


def experiments(settings: Settings) -> list[Settings]:
    """These settings, and those of every experiment that is measured with them (`bench.also`).

    Raises UserError where they do not go together.
    """
    shared = {name: getattr(settings.bench, name) for name in BenchSettings.model_fields if name not in OWN}
    found = [settings]
    for path in settings.bench.also:
        other = load_settings(path)
        if other.bench.also:
            raise UserError(f"bench.also: {path} names further experiments itself; name them all in one file")
        found.append(other.model_copy(update={"threads": settings.threads,
                                              "bench": other.bench.model_copy(update=shared)}))
    targets = [one.target.name for one in found]
    twice = [name for name in targets if targets.count(name) > 1]
    if twice:
        raise UserError(f"bench.also: two experiments measure the target `{twice[0]}`, and the summary could not "
                        "tell them apart; measure them in two runs")
    return found


def _pieces(settings: Settings) -> Iterator[Piece]:
    bench, prompts = settings.bench, bench_prompts(settings)
    shown = _first_of_each_task(prompts)
    for temperature in bench.temperatures:
        for number, prompt in enumerate(prompts):
            yield Piece(settings.target.name, settings.target.dtype, settings.threads, prompt, temperature,
                        tuple(_methods(settings, temperature, number)), bench.repeats, bench.seed,
                        prompt.key in shown)


def _methods(settings: Settings, temperature: float, number: int) -> Iterator[str]:
    """The controls are greedy, so they say nothing about sampled text."""
    bench = settings.bench
    yield from own_methods(settings)
    if bench.noise_every and number % bench.noise_every == 0:
        yield AGAIN
    if temperature == 0 and number % bench.controls_every == 0:
        yield from bench.controls


def _first_of_each_task(prompts: list[BenchPrompt]) -> set[str]:
    """The prompts whose text and picture the report shows."""
    by_task: dict[str, list[str]] = {}
    for prompt in prompts:
        by_task.setdefault(prompt.task, []).append(prompt.key)
    return {key for keys in by_task.values() for key in keys[:SHOWN_PER_TASK]}
