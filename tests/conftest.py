"""What holds for all tests.

Tests marked `gpu` are skipped where there is no CUDA device: `pytest -m gpu` on a machine with one.
With several workers (`pytest -n 2`) the files marked `long` start first, so that none is left alone
at the end, and every worker keeps to one thread: spinning threads of two would wait for each other.
"""

import os

import pytest

pytest_plugins = ["tests.browser"]

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch
    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
