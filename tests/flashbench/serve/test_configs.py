"""The files for `serve deploy`: Ray takes them, and the application is built from what they say."""

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError
from ray.serve.schema import ServeDeploySchema

from flashbench.serve.app import AppArgs, build_app

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = sorted((ROOT / "jobs/configs/serve").glob("*.yaml"))


def arguments(path: Path) -> AppArgs:
    """What the file gives to the builder that it names."""
    application, = ServeDeploySchema.model_validate(yaml.safe_load(path.read_text())).applications
    assert application.import_path == f"{build_app.__module__}:{build_app.__name__}"
    args = AppArgs.model_validate(application.args)
    return args.model_copy(update={"config": ROOT / args.config})


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_ray_takes_it_and_the_application_is_built_from_it(path):
    assert build_app(arguments(path))
    assert ServeDeploySchema.model_validate(yaml.safe_load(path.read_text())).http_options.host == "127.0.0.1"


def test_ray_refuses_a_file_that_is_wrong():
    tree = yaml.safe_load(CONFIGS[0].read_text())
    with pytest.raises(ValidationError):
        ServeDeploySchema.model_validate(tree | {"proxy_location": "Nowhere"})


def test_both_layouts_have_a_file():
    handles = {path.stem: build_app(arguments(path))._bound_deployment.init_args[1] for path in CONFIGS}
    assert {name: len({id(handle) for handle in these.values()}) for name, these in handles.items()} == {
        "demo": 3, "shared": 1}
