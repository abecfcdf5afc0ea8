"""The first stage: put the drawn scenes on disk, and check that every data set opens. It knows no file format."""

from dataclasses import dataclass
from pathlib import Path

from flashbench.console import progress, table
from flashbench.settings import Settings, SourceSettings
from specflash.data import open_dataset
from specflash.data.drawn import write_scenes


@dataclass(frozen=True)
class Opened:
    """A source of the settings that opens: who uses it, and how many samples it gives."""

    use: str
    dataset: str
    split: str
    path: Path | None
    samples: int


def run_prepare(settings: Settings) -> list[Opened]:
    """Write the drawn scenes where a source wants them; open every source and read its first sample.

    Running it again only adds what is missing. Raises UserError for a source that does not open.
    """
    sources = sources_of(settings)
    wanted = {source.path.resolve() for source in sources.values() if source.path}
    if settings.data_folder.resolve() in wanted:
        _draw(settings)
    opened = [_open(use, source) for use, source in sources.items()]
    table("data", ("used by", "data set", "split", "samples", "folder"),
          [(one.use, one.dataset, one.split, one.samples, one.path or "(installed)") for one in opened])
    return opened


def sources_of(settings: Settings) -> dict[str, SourceSettings]:
    """Every source the settings name, by the stage that reads it."""
    return {"dump": settings.dump.source,
            **{f"bench {name}": task.source for name, task in settings.bench.tasks.items()}}


def _draw(settings: Settings) -> None:
    scenes = settings.scenes
    with progress("draw scenes", scenes.train + scenes.test) as advance:
        write_scenes(settings.data_folder, scenes.train, scenes.test, scenes.seed,
                     on_step=lambda done, total: advance())


def _open(use: str, source: SourceSettings) -> Opened:
    dataset = open_dataset(source.dataset, source.path, source.split, source.limit)
    dataset[0]
    return Opened(use, source.dataset, source.split, source.path, len(dataset))
