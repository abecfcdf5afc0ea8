"""What holds for all tests.

Tests marked `gpu` are skipped where there is no CUDA device: `pytest -m gpu` on a machine with one.
Those marked `weights` are skipped where SPECFLASH_WEIGHTS names no folder: `make test-weights`.
The suite is shared by two workers, file by file. Files marked `long` start first, the longest of them
before all, so that none is left alone at the end; and every worker keeps to one thread, for spinning
threads of two would wait for each other. Ray starts where a test starts it, never by itself: what a failed
test left running could start one under the next.
"""

import os

import pytest

pytest_plugins = ["tests.browser"]

os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # before ray is imported
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_seconds, reverse=True)
    if "SPECFLASH_WEIGHTS" not in os.environ:
        for item in items:
            if item.get_closest_marker("weights"):
                item.add_marker(pytest.mark.skip(reason="no real weights; see `make test-weights`"))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch
    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def _seconds(item: pytest.Item) -> int:
    """About how long the item's file takes, where that is long."""
    mark = item.get_closest_marker("long")
    return mark.kwargs["seconds"] if mark else 0
