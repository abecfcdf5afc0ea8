"""One measured experiment, shared by the tests that only look at it."""

import pytest

from flashbench.bench import measure
from tests.flashbench.experiment import make_experiment


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    settings = make_experiment(tmp_path_factory.mktemp("experiment"))
    return settings, measure(settings)
