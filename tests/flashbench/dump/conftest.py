"""The tiny target on disk, and a Ray with two logical GPUs."""

from pathlib import Path

import pytest

from flashbench.ray_session import local_ray
from tests.tiny import save_tiny_llava

CPUS, LOGICAL_GPUS = 4, 2


@pytest.fixture(scope="session")
def weights(tmp_path_factory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture(scope="module")
def dump_ray():
    """Four logical CPUs and two logical GPUs, whatever the machine has; ends with the module."""
    with local_ray(num_cpus=CPUS, num_gpus=LOGICAL_GPUS):
        yield
