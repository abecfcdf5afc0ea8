"""One YAML per experiment, shared by every verb. It only describes; it runs nothing.

Dotted overrides (`train.lr=3e-4`) come after the file. An unknown key is an error that names
the nearest known one. Paths appear in settings and nowhere else.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from specflash.catalogue import nearest
from specflash.errors import UserError


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def native_precision() -> str:
    """bfloat16 where this machine computes in it, else float32.

    A CPU without bf16 instructions emulates them, several times slower than float32.
    """
    import torch  # here, so that a wrong setting is told without waiting for torch

    native = (torch.cuda.is_bf16_supported() if torch.cuda.is_available()
              else torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return "bfloat16" if native else "float32"


Auto = BeforeValidator(lambda value: native_precision() if value == "auto" else value)
"""`auto` is replaced on loading, so a run's saved settings say what was computed in."""


class TargetSettings(Section):
    """weights: local folder, or null for the weights that ship with the project.

    dtype: float32, bfloat16, float16, or auto (what the machine that reads the settings is fast in).
    """

    name: str = "llava-smol"
    weights: str | None = None
    dtype: Annotated[Literal["float32", "bfloat16", "float16"], Auto] = "bfloat16"
    device: str = "auto"


class SourceSettings(Section):
    """One data set: a catalogue name, the folder it lies in, and which part of it to take."""

    dataset: str
    path: Path | None = None
    split: str = "train"
    limit: int | None = Field(None, ge=1)


class ScenesSettings(Section):
    """How many drawn scenes `prepare` writes, and the seed they follow from."""

    train: int = Field(240, ge=1)
    test: int = Field(60, ge=1)
    seed: int = 0


class DumpSettings(Section):
    """Ray Data feature extraction. `actors` target replicas, each with its CPUs and GPUs."""

    source: SourceSettings
    actors: int = Field(1, ge=1)
    cpus_per_actor: float = 1
    gpus_per_actor: float = 0
    decoders: int = Field(1, ge=1)
    batch: int = Field(4, ge=1)
    shard_mb: int = Field(64, ge=1)
    error_budget: float = Field(0.05, ge=0, le=1)
    max_length: int = 2048


class TrainSettings(Section):
    """Ray Train + DeepSpeed. One recipe for every draft; a draft's own settings are in `drafts`."""

    workers: int = Field(2, ge=1)
    cpus_per_worker: float = 1
    gpu: bool = False
    zero_stage: Literal[0, 1, 2, 3] = 1
    precision: Annotated[Literal["float32", "bfloat16"], Auto] = "bfloat16"
    epochs: int = Field(8, ge=1)
    batch: int = Field(4, ge=1, description="samples per worker and micro-step")
    accumulate: int = Field(1, ge=1)
    lr: float = Field(1e-3, gt=0)
    warmup_share: float = Field(0.05, ge=0, lt=1)
    weight_decay: float = 0.05
    clip_norm: float = Field(0.5, gt=0)
    noise: float = Field(0.1, ge=0, description="uniform input noise ±noise·512/L on features")
    held_out: float = Field(0.05, gt=0, lt=1)
    checkpoint_every: int = Field(1, ge=1, description="epochs between checkpoints")
    max_failures: int = 2
    seed: int = 0


class VerifySettings(Section):
    """Losslessness in fp32: every benchmark prompt plus some, every draft, greedy."""

    prompts: int | None = Field(None, ge=1, description="null: every benchmark prompt")
    max_new_tokens: int = Field(64, ge=1)


class TaskSettings(Section):
    """One row group of the benchmark: held-out samples of one source under one label."""

    source: SourceSettings
    max_new_tokens: int = Field(64, ge=1)
    out_of_domain: bool = False


class BenchSettings(Section):
    tasks: dict[str, TaskSettings]
    methods: tuple[str, ...] = ("vanilla", "eagle", "specflash")
    temperature: float = 0.0
    warmups: int = Field(2, ge=0)
    repeats: int = Field(1, ge=1)
    seed: int = 0
    hf_control: bool = True


class TrackSettings(Section):
    """MLflow. uri null: MLFLOW_TRACKING_URI, else a SQLite file inside the run folder."""

    experiment: str = "specflash"
    uri: str | None = None


class ServeSettings(Section):
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    methods: tuple[str, ...] = ("vanilla", "eagle", "specflash")
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    replicas: int = Field(1, ge=1)
    cpus_per_replica: float = 0.5
    gpus_per_replica: float = 0
    threads: int = Field(1, ge=1)
    max_new_tokens: int = Field(512, ge=1)
    max_body_mb: int = Field(16, ge=1)
    max_pixels: int = Field(32_000_000, ge=1, description="of all pictures of one request")
    max_pictures: int = Field(8, ge=1)
    max_prompt_tokens: int = Field(4096, ge=1)


class Settings(Section):
    """The whole experiment. `run` is the folder everything it makes goes to."""

    name: str
    run: Path
    target: TargetSettings = TargetSettings()
    scenes: ScenesSettings = ScenesSettings()
    dump: DumpSettings
    drafts: dict[str, dict[str, Any]] = {"eagle": {}, "specflash": {}}
    train: TrainSettings = TrainSettings()
    verify: VerifySettings = VerifySettings()
    bench: BenchSettings
    track: TrackSettings = TrackSettings()
    serve: ServeSettings = ServeSettings()
    threads: int = Field(2, ge=1, description="CPU threads of a process that works alone")
    quotable: bool = Field(True, description="false: the summary says its numbers are not for quoting")

    @property
    def data_folder(self) -> Path:
        return self.run / "data"

    @property
    def dump_folder(self) -> Path:
        return self.run / "features"

    def draft_folder(self, draft: str) -> Path:
        return self.run / "drafts" / draft


def load_settings(path: str | Path, overrides: list[str] | tuple[str, ...] = ()) -> Settings:
    """Read and check a YAML file; raises UserError with one line per wrong key."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"no settings file at {path}")
    try:
        tree = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path} must hold a mapping of settings")
    written_run = tree.get("run")
    for override in overrides:
        _apply(tree, override)
    if isinstance(written_run, str) and tree.get("run") != written_run:
        tree = moved(tree, written_run, str(tree["run"]))
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise UserError(f"{path}: {_explain(error)}") from None


def save_settings(settings: Settings, path: Path) -> None:
    """Write the resolved settings beside a result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False))


def moved(value: Any, old: str, new: str) -> Any:
    """Every path inside the run folder `old`, moved to the run folder `new` (drawn data lie inside it)."""
    if isinstance(value, dict):
        return {key: moved(part, old, new) for key, part in value.items()}
    if isinstance(value, str) and (value == old or value.startswith(old + os.sep)):
        return new + value.removeprefix(old)
    return value


def _apply(tree: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    if not equals:
        raise UserError(f"`{override}` is not an override; write section.key=value")
    *parents, last = key.split(".")
    node = tree
    for parent in parents:
        node = node.setdefault(parent, {})
        if not isinstance(node, dict):
            raise UserError(f"`{key}`: `{parent}` is a value, not a section")
    node[last] = yaml.safe_load(value)


def _explain(error: ValidationError) -> str:
    return "; ".join(_explain_one(problem) for problem in error.errors())


def _explain_one(problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] != "extra_forbidden":
        return f"`{where}`: {problem['msg']}"
    return f"unknown key `{where}`{nearest(str(problem['loc'][-1]), _known_keys(problem['loc'][:-1]))}"


def _known_keys(location: tuple[str | int, ...]) -> list[str]:
    """The fields of the section at `location`, for the nearest-name hint."""
    section: Any = Settings
    for part in location:
        field = section.model_fields.get(part) if hasattr(section, "model_fields") else None
        section = field.annotation if field else section
    return list(getattr(section, "model_fields", Settings.model_fields))
