"""cluster.yaml against Ray's own schema, and against what the stages need of a cluster."""

from pathlib import Path

import jsonschema
import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

CLUSTER = Path(__file__).resolve().parents[2] / "cluster.yaml"


@pytest.fixture
def cluster() -> dict:
    return yaml.safe_load(CLUSTER.read_text())


def start_commands(cluster: dict) -> list[str]:
    return [line for role in ("head", "worker")
            for line in cluster[f"{role}_start_ray_commands"] if "ray start" in line]


def test_ray_accepts_it(cluster):
    validate_config(prepare_config(cluster))


@pytest.mark.parametrize("break_it", [
    lambda cluster: cluster.update(max_worker=8),
    lambda cluster: cluster["available_node_types"]["gpu_worker"].update(resources={"GPU": 0.5}),
    lambda cluster: cluster["available_node_types"]["gpu_worker"].pop("resources"),
])
def test_ray_refuses_it_when_it_is_broken(cluster, break_it):
    break_it(cluster)
    with pytest.raises(jsonschema.ValidationError):
        validate_config(prepare_config(cluster))


def test_no_work_lands_on_the_head(cluster):
    assert cluster["available_node_types"][cluster["head_node_type"]]["resources"] == {"CPU": 0}
    assert "--num-cpus=0" in start_commands(cluster)[0]


def test_every_worker_brings_a_gpu(cluster):
    workers = [node for name, node in cluster["available_node_types"].items() if name != cluster["head_node_type"]]
    assert workers
    assert all(node["resources"]["GPU"] >= 1 for node in workers)
    assert "--gpus all" in cluster["docker"]["worker_run_options"]


def test_workers_find_the_packages_of_a_job(cluster):
    assert len(start_commands(cluster)) == 2
    assert all("PYTHONPATH=platform ray start" in line for line in start_commands(cluster))


def test_the_dashboard_stays_on_loopback(cluster):
    assert "--dashboard-host=127.0.0.1" in start_commands(cluster)[0]


def test_every_node_sees_the_shared_storage(cluster):
    mount, = [option for option in cluster["docker"]["run_options"] if option.startswith("-v ")]
    on_host = mount.removeprefix("-v ").partition(":")[0]
    assert any("mount -t nfs4" in line and on_host in line for line in cluster["initialization_commands"])


def test_the_image_has_the_pinned_ray(cluster):
    pinned = next(line for line in (CLUSTER.parent / "constraints.txt").read_text().splitlines()
                  if line.startswith("ray=="))
    version = pinned.removeprefix("ray==")
    assert {cluster["docker"][f"{role}_image"].split(":")[1].split("-")[0] for role in ("head", "worker")} == {version}
