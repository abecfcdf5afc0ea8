"""The settings of the benchmark: tasks, methods, bars, and how often what runs. They only describe."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from flashbench.data_settings import SourceSettings, with_preset
from flashbench.section import Section
from flashbench.values import AtHome, ControlName, Cpus, Gpus, Seed, Temperature, each_once
from specflash.presets import Preset


class GoalSettings(Section):
    """What a method is to reach on a task: R_decode and R_e2e over our vanilla. A missed bar comes with arithmetic."""

    method: str = "specflash"
    decode: float | None = Field(None, gt=0)
    e2e: float | None = Field(None, gt=0)


class TaskSettings(Section):
    """One row group of the benchmark: held-out samples of one source under one label.

    skip: samples of the source before the first one asked. Two tasks on the same pictures would not be
    independent prompts, as which the intervals count them.
    goal: bars that the summary holds the task's speed-ups against.
    preset: a name of PRESETS (specflash/presets.py), which then says what is not said here.
    """

    source: SourceSettings
    skip: int = Field(0, ge=0)
    max_new_tokens: int = Field(64, ge=1)
    out_of_domain: bool = False
    goal: GoalSettings | None = None
    preset: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, tree: Any) -> Any:
        return with_preset(tree, Preset.task)


class BenchSettings(Section):
    """`methods`: drafts that the experiment has settings for, and drafts that need no training.

    also             further experiment files, each of another target: measured in the same run, with their own
                     target, drafts, tasks, methods and assistant; all else is as it is said here
    temperatures     `temperature: x` is short for a single one
    repeats          of every prompt, each with the next seed
    controls         what outside engines run beside ours at temperature 0, on every `controls_every`-th prompt
    assistant        the control hf-assisted drafts with the model in this folder, which has the target's tokenizer
    noise_every      vanilla runs a second time on every n-th prompt; 0: never, and the speed-ups stay unchecked
    noise_band       vanilla against vanilla may differ by this share; beyond it the machine is too noisy
    actors           processes that measure, each with an engine of its own and its CPUs and GPUs
    """

    tasks: dict[str, TaskSettings] = Field(min_length=1)
    methods: tuple[str, ...] = Field(("vanilla", "eagle", "specflash"), min_length=1)
    also: tuple[Annotated[Path, AtHome], ...] = ()
    temperatures: Annotated[tuple[Temperature, ...], AfterValidator(each_once)] = Field((0.0,), min_length=1)
    warmups: int = Field(2, ge=0)
    repeats: int = Field(1, ge=1)
    seed: Seed = 0
    controls: Annotated[tuple[ControlName, ...], AfterValidator(each_once)] = ("hf-generate",)
    controls_every: int = Field(1, ge=1)
    assistant: Annotated[Path | None, AtHome] = None
    noise_every: int = Field(1, ge=0)
    noise_band: float = Field(0.10, gt=0)
    actors: int = Field(1, ge=1)
    cpus_per_actor: Cpus = 1
    gpus_per_actor: Gpus = 0

    @model_validator(mode="before")
    @classmethod
    def _one_temperature(cls, tree: Any) -> Any:
        if not isinstance(tree, dict) or "temperature" not in tree:
            return tree
        if "temperatures" in tree:
            raise ValueError("say `temperature` or `temperatures`, not both")
        rest = {key: value for key, value in tree.items() if key != "temperature"}
        return rest | {"temperatures": [tree["temperature"]]}

    @model_validator(mode="after")
    def _assistant_is_named(self) -> "BenchSettings":
        if "hf-assisted" in self.controls and self.assistant is None:
            raise ValueError("the control hf-assisted needs `assistant`: the folder of a small language model "
                             "with the target's tokenizer")
        return self
