"""The Serve application: an ingress and one deployment per method. It starts nothing.

`build_app` is what a Serve config file names (`import_path: flashbench.serve.app:build_app`);
`application` is the same for settings that are loaded already.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict
from ray.serve import Application

from flashbench.serve.ingress import Ingress
from flashbench.serve.method import Method
from flashbench.settings import ServeSettings, Settings, load_settings

INGRESS_CPUS = 0.1


class AppArgs(BaseModel):
    """`args` of the application in a Serve config file: the experiment, and dotted overrides."""

    model_config = ConfigDict(extra="forbid")
    config: Path
    overrides: list[str] = []


def build_app(args: AppArgs) -> Application:
    return application(load_settings(args.config, args.overrides))


def application(settings: Settings) -> Application:
    serve = settings.serve
    replicas = Method.options(num_replicas=serve.replicas, ray_actor_options={
        "num_cpus": serve.cpus_per_replica, "num_gpus": serve.gpus_per_replica})
    handles = {method: replicas.options(name=method).bind(method, settings) for method in serve.methods}
    ingress = Ingress.options(ray_actor_options={"num_cpus": INGRESS_CPUS},
                              user_config=serve.ab.model_dump(mode="json"))
    return ingress.bind(settings, handles)


def cpus_needed(serve: ServeSettings) -> float:
    """Logical CPUs of the whole application (Serve's own controller and proxy ask for none)."""
    return INGRESS_CPUS + len(serve.methods) * serve.replicas * serve.cpus_per_replica


def gpus_needed(serve: ServeSettings) -> float:
    return len(serve.methods) * serve.replicas * serve.gpus_per_replica
