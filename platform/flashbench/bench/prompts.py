"""The prompts of a benchmark: held-out samples of each task, asked but not answered.

It knows no model and no draft.
"""

from dataclasses import dataclass

from flashbench.bench_settings import TaskSettings
from flashbench.settings import Settings
from flashbench.sources import open_samples
from specflash.data import as_request
from specflash.errors import UserError
from specflash.records import Sample


@dataclass(frozen=True)
class BenchPrompt:
    """One question about one picture, under the label of its task.

    sample   id of the data set's sample; `request` is the same without the last answer
    """

    task: str
    sample: str
    request: Sample
    max_new_tokens: int
    out_of_domain: bool

    @property
    def key(self) -> str:
        return f"{self.task}/{self.sample}"


def bench_prompts(settings: Settings) -> list[BenchPrompt]:
    """Every task's prompts, in the order of the settings. Raises UserError where a task has none."""
    prompts = []
    for name, task in settings.bench.tasks.items():
        dataset = open_samples(task.source, _end(task))
        if len(dataset) <= task.skip:
            raise UserError(f"task `{name}` has no samples; check source and skip of bench.tasks.{name}")
        prompts += [_prompt(name, task, dataset[i]) for i in range(task.skip, len(dataset))]
    return prompts


def warmup_prompts(settings: Settings) -> list[BenchPrompt]:
    """Prompts that are decoded before the clock counts: the samples behind the first task's limit.

    Where the data set ends at the limit there are none to spare, and its own last ones serve.
    """
    name, task = next(iter(settings.bench.tasks.items()))
    dataset = open_samples(task.source, None)
    first = min(_end(task) or len(dataset), max(0, len(dataset) - settings.bench.warmups))
    last = min(first + settings.bench.warmups, len(dataset))
    return [_prompt(name, task, dataset[i]) for i in range(first, last)]


def _end(task: TaskSettings) -> int | None:
    """Behind the task's last sample; None: the data set's end."""
    return None if task.source.limit is None else task.skip + task.source.limit


def _prompt(name: str, task: TaskSettings, sample: Sample) -> BenchPrompt:
    return BenchPrompt(name, sample.id, as_request(sample), task.max_new_tokens, task.out_of_domain)
