"""One YAML per experiment, shared by every verb. It only describes; it runs nothing.

Dotted overrides (`train.lr=3e-4`) come after the file. An unknown key is an error that names
the nearest known one. Paths appear in settings and nowhere else.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator

from flashbench.bench_settings import BenchSettings
from flashbench.data_settings import CheckSettings, ScenesSettings, SourceSettings, with_preset
from flashbench.section import Section
from flashbench.serve_settings import LoadSettings, ServeSettings
from flashbench.tree import overridden, read_tree
from flashbench.values import AtHome, Auto, Cpus, Gpus, Seed, Threads
from specflash.catalogue import nearest
from specflash.errors import UserError
from specflash.hub import is_hub_name
from specflash.presets import Preset


class TargetSettings(Section):
    """weights: local folder, owner/name[@revision] of the model hub, or null for what ships with the project.

    dtype: float32, bfloat16, float16, or auto (what the machine that reads the settings is fast in).
    device_map: auto for a target that is too large for one GPU, layer by layer over all that a process sees; then
    `device` says nothing.
    """

    name: str = "llava-smol"
    weights: Annotated[str | None, AtHome] = None
    dtype: Annotated[Literal["float32", "bfloat16", "float16"], Auto] = "bfloat16"
    device: str = "auto"
    device_map: Literal["auto"] | None = None


class DumpSettings(Section):
    """Ray Data feature extraction. `actors` target replicas, each with its CPUs and GPUs.

    answers: whose answers to the source's questions the features are of, the data set's or the
    target's own greedy ones; the target's are what a draft will be asked to foresee.
    inner: a decoder layer of the target whose hidden states are stored too, for drafts that look into it (`dream`);
    auto: the one whose attention is surest (dump/inner.py); null: of no layer. It doubles what is stored.
    preset: a name of PRESETS (specflash/presets.py), which then says what is not said here.
    """

    source: SourceSettings
    answers: Literal["dataset", "target"] = "dataset"
    max_new_tokens: int = Field(256, ge=1, description="limit of each of the target's own answers")
    actors: int = Field(1, ge=1)
    cpus_per_actor: Cpus = 1
    gpus_per_actor: Gpus = 0
    decoders: int = Field(1, ge=1)
    batch: int = Field(4, ge=1)
    shard_mb: int = Field(64, ge=1)
    reserve_mb: int = Field(1024, ge=0, description="MiB of the disk that a dump leaves free; it stops before")
    error_budget: float = Field(0.05, ge=0, le=1)
    max_length: int = Field(2048, ge=1)
    inner: Annotated[int, Field(ge=0)] | Literal["auto"] | None = None
    preset: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, tree: Any) -> Any:
        return with_preset(tree, Preset.dump)


class RegenerateSettings(Section):
    """The target's own answers to the questions of `dump.source`, as a data set. All else is as `dump` says it.

    sampled      share of the samples that is answered at `temperature`, the others greedily; which they are, and
                 what is drawn, follows from `seed` and the sample
    """

    sampled: float = Field(0.0, ge=0, le=1)
    temperature: float = Field(1.0, gt=0)
    seed: Seed = 0


class TrainSettings(Section):
    """Ray Train + DeepSpeed. One recipe for every draft; a draft's own settings are in `drafts`.

    features: stored, as `dump` left them; or online: the frozen target runs inside each worker and makes them as they
    are needed, from `dump.source`, and no features are stored (train/online.py).
    start: folder of finished drafts, one folder each, whose weights training goes on from; null:
    from scratch.
    """

    workers: int = Field(2, ge=1)
    cpus_per_worker: Cpus = 1
    gpu: bool = False
    features: Literal["stored", "online"] = "stored"
    zero_stage: Literal[0, 1, 2, 3] = 1
    precision: Annotated[Literal["float32", "bfloat16"], Auto] = "bfloat16"
    epochs: int = Field(8, ge=1)
    batch: int = Field(4, ge=1, description="samples per worker and micro-step")
    accumulate: int = Field(1, ge=1)
    lr: float = Field(1e-3, gt=0)
    warmup_share: float = Field(0.05, ge=0, lt=1)
    weight_decay: float = Field(0.05, ge=0)
    clip_norm: float = Field(0.5, gt=0)
    noise: float = Field(0.1, ge=0, description="uniform input noise ±noise·512/L on features")
    held_out: float = Field(0.05, gt=0, lt=1)
    start: Annotated[Path | None, AtHome] = None
    checkpoint_every: int = Field(1, ge=1, description="epochs between checkpoints")
    max_failures: int = Field(2, ge=-1, description="-1: no limit")
    seed: Seed = 0


class VerifySettings(Section):
    """How much the losslessness gate looks at. The defaults are its short form.

    prompts        compared in float32, greedy; null: every benchmark prompt
    exact_prompts  compared in the target's own number format, with a constant number of rows and without
    lengths        drafted tokens per round that are tried besides each draft's own number; these also
                   bring in a draft that knows the answer and errs now and then
    cuts           at how many places each answer in float32 also has to end, by the limit and by an end token
    temperatures   of the laws that are enumerated on a tiny target; none: no laws
    draws          sampled answers per method, and as many twice of vanilla, for a χ² test; 0: none
    """

    prompts: int | None = Field(None, ge=1)
    max_new_tokens: int = Field(64, ge=1)
    exact_prompts: int = Field(4, ge=1)
    lengths: tuple[Annotated[int, Field(ge=1, lt=32)], ...] = ()
    cuts: int = Field(0, ge=0)
    temperatures: tuple[Annotated[float, Field(gt=0)], ...] = (0.7, 1.0, 1.3)
    draws: int = Field(0, ge=0)


class TrackSettings(Section):
    """MLflow. uri null: MLFLOW_TRACKING_URI, else a SQLite file inside the run folder."""

    experiment: str = "specflash"
    uri: str | None = None


class Settings(Section):
    """The whole experiment. `run` is the folder everything it makes goes to."""

    name: str
    run: Annotated[Path, AtHome]
    target: TargetSettings = TargetSettings()
    scenes: ScenesSettings = ScenesSettings()
    check: CheckSettings = CheckSettings()
    dump: DumpSettings
    regenerate: RegenerateSettings = RegenerateSettings()
    drafts: dict[str, dict[str, Any]] = Field({"eagle": {}, "specflash": {}})
    train: TrainSettings = TrainSettings()
    verify: VerifySettings = VerifySettings()
    bench: BenchSettings
    track: TrackSettings = TrackSettings()
    serve: ServeSettings = ServeSettings()
    load: LoadSettings = LoadSettings()
    threads: Threads = Field(2, description="CPU threads of a process that works alone")
    quotable: bool = Field(True, description="false: the summary says its numbers are not for quoting")

    @model_validator(mode="before")
    @classmethod
    def _measure_every_draft(cls, tree: Any) -> Any:
        """Where the drafts are named and the methods are not: vanilla and all of them."""
        if not isinstance(tree, dict) or not isinstance(tree.get("drafts"), dict):
            return tree
        methods = {"methods": list(dict.fromkeys(("vanilla", *tree["drafts"])))}
        return tree | {name: methods | tree.get(name, {}) for name in ("bench", "serve")
                       if isinstance(tree.get(name, {}), dict)}

    @property
    def data_folder(self) -> Path:
        return self.run / "data"

    @property
    def dump_folder(self) -> Path:
        return self.run / "features"

    @property
    def online_folder(self) -> Path:
        return self.run / "online"

    @property
    def regenerated_folder(self) -> Path:
        return self.run / "regenerated"

    def draft_folder(self, draft: str) -> Path:
        return self.run / "drafts" / draft

    def placed(self) -> "Settings":
        """With absolute paths: workers may run in another folder than the driver."""
        weights, start = self.target.weights, self.train.start
        if weights is not None and not is_hub_name(weights):
            weights = str(Path(weights).absolute())
        return self.model_copy(update={
            "run": self.run.absolute(),
            "target": self.target.model_copy(update={"weights": weights}),
            "train": self.train.model_copy(update={"start": start and start.absolute()}),
            "dump": self.dump.model_copy(update={"source": self.dump.source.placed()})})


def load_settings(path: str | Path, overrides: list[str] | tuple[str, ...] = ()) -> Settings:
    """Read and check a YAML file; raises UserError with one line per wrong key."""
    settings = read_settings(path, overrides)
    # Here, because it needs torch: what is wrong above is told without waiting for it.
    from flashbench.draft_settings import check_drafts
    check_drafts(settings, path)
    return settings


def read_settings(path: str | Path, overrides: list[str] | tuple[str, ...] = ()) -> Settings:
    """The same for who uses no draft: what is said of drafts is not checked, which would import all of them."""
    tree = overridden(read_tree(Path(path)), overrides)
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise UserError(f"{path}: {explain(error, Settings)}") from None


def save_settings(settings: Settings, path: Path) -> None:
    """Write the resolved settings beside a result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False))


def explain(error: ValidationError, model: type[BaseModel], section: str = "") -> str:
    """What is wrong, on one line, each key with its place; an unknown one with the nearest of `model`."""
    return "; ".join(_explain_one(problem, model, section) for problem in error.errors())


def _explain_one(problem: Any, model: type[BaseModel], section: str) -> str:
    where = ".".join([*([section] if section else []), *(str(part) for part in problem["loc"])])
    if problem["type"] != "extra_forbidden":
        return f"`{where}`: {problem['msg']}"
    return f"unknown key `{where}`{nearest(str(problem['loc'][-1]), _known_keys(problem['loc'][:-1], model))}"


def _known_keys(location: tuple[str | int, ...], model: type[BaseModel]) -> list[str]:
    """The fields of the section at `location`, for the nearest-name hint."""
    section: Any = model
    for part in location:
        section = get_args(section)[1] if get_origin(section) is dict else section.model_fields[part].annotation
    return list(section.model_fields)
