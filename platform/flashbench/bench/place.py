"""Where a benchmark is measured: in this process, or by Ray actors. It starts neither."""

from pathlib import Path

from flashbench.ray_session import cluster_is_given, threads_for
from flashbench.settings import Settings


def on_ray(settings: Settings) -> bool:
    """One actor without a GPU of its own on this machine alone is this process."""
    bench = settings.bench
    return bench.actors > 1 or bench.gpus_per_actor > 0 or cluster_is_given()


def as_measured(settings: Settings) -> Settings:
    """The settings under which a worker works: its threads, and paths that hold in any folder."""
    if not on_ray(settings):
        return settings
    bench, target = settings.bench, settings.target
    weights = target.weights and str(Path(target.weights).absolute())
    assistant = bench.assistant and bench.assistant.absolute()
    return settings.model_copy(update={
        "run": settings.run.absolute(), "threads": threads_for(bench.cpus_per_actor),
        "target": target.model_copy(update={"weights": weights}),
        "bench": bench.model_copy(update={"assistant": assistant})})
