"""What is tried again when workers fail, and what is told at once."""

import errno
from pathlib import Path

import pytest
from ray.train import WorkerGroupError

from flashbench.train.run import _with_retries
from specflash.errors import UserError
from specflash.files import DiskFull
from tests.flashbench.train.conftest import settings_for

DIED = RuntimeError("the worker died")
FULL = OSError(errno.ENOSPC, "No space left on device")


def failing_with(*failures: Exception):
    """An attempt that fails with each of them in turn, and then succeeds. (attempt, its calls)"""
    left, calls = list(failures), []

    def attempt() -> None:
        calls.append(len(left))
        if left:
            raise WorkerGroupError("failed", {0: left.pop(0)})
    return attempt, calls


def settings(max_failures: int):
    return settings_for(Path("weights"), Path("runs/x"), max_failures=max_failures)


@pytest.mark.parametrize(("max_failures", "failures", "attempts"), [(2, 0, 1), (2, 2, 3), (-1, 9, 10), (0, 0, 1)])
def test_a_dead_worker_is_tried_again_as_often_as_the_settings_say(max_failures, failures, attempts, capsys):
    attempt, calls = failing_with(*[DIED] * failures)
    _with_retries(settings(max_failures), attempt)
    assert len(calls) == attempts
    assert capsys.readouterr().err.count("the worker died); training goes on from its last checkpoint") == failures


@pytest.mark.parametrize(("max_failures", "attempts"), [(2, 3), (0, 1)])
def test_one_failure_more_ends_it(max_failures, attempts):
    attempt, calls = failing_with(*[DIED] * 9)
    with pytest.raises(WorkerGroupError):
        _with_retries(settings(max_failures), attempt)
    assert len(calls) == attempts


@pytest.mark.parametrize(("failure", "kind", "told"), [
    (FULL, DiskFull, "the disk below runs/x is full: make room and run again"),
    (UserError("too few samples"), UserError, "too few samples")])
def test_what_the_user_has_to_mend_is_told_at_once(failure, kind, told):
    attempt, calls = failing_with(failure)
    with pytest.raises(kind, match=told):
        _with_retries(settings(5), attempt)
    assert len(calls) == 1
