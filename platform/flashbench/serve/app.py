"""The Serve application: an ingress, and the deployments of the layout. It starts nothing.

`build_app` is what a Serve config file names (`import_path: flashbench.serve.app:build_app`, see
jobs/configs/serve/); `application` is the same for settings that are loaded already.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict
from ray.serve import Application

from flashbench.serve.ingress import Ingress
from flashbench.serve.layout import deployments, ingress_options, replica_options
from flashbench.serve.replica import Replica
from flashbench.settings import Settings, load_settings


class AppArgs(BaseModel):
    """`args` of the application in a Serve config file: the experiment, and dotted overrides."""

    model_config = ConfigDict(extra="forbid")
    config: Path
    overrides: list[str] = []


def build_app(args: AppArgs) -> Application:
    return application(load_settings(args.config, args.overrides))


def application(settings: Settings) -> Application:
    serve = settings.serve
    replicas = Replica.options(**replica_options(serve))
    handles = {}
    for name, methods in deployments(serve).items():
        handles |= dict.fromkeys(methods, replicas.options(name=name).bind(methods, settings))
    ingress = Ingress.options(**ingress_options(serve), user_config=serve.ab.model_dump(mode="json"))
    return ingress.bind(settings, handles)
