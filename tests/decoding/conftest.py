"""The tiny target and its prompts, loaded once."""

import pytest

from specflash.records import Prompt
from specflash.targets.base import Target
from tests.decoding.scripted import SAMPLES
from tests.tiny import tiny_target


@pytest.fixture(scope="session")
def target(tmp_path_factory) -> Target:
    return tiny_target(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture(scope="session")
def bf16_target(tmp_path_factory) -> Target:
    return tiny_target(tmp_path_factory.mktemp("tiny-llava-bf16"), "bfloat16")


@pytest.fixture(params=SAMPLES)
def prompt(request, target) -> Prompt:
    return target.encode(SAMPLES[request.param])


@pytest.fixture(scope="session")
def pictured(target) -> Prompt:
    return target.encode(SAMPLES["picture"])
