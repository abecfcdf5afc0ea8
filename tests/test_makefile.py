"""What `make` would run, without running it."""

import subprocess
from pathlib import Path

import pytest

from flashbench.bench.plan import experiments
from flashbench.settings import load_settings

ROOT = Path(__file__).resolve().parents[1]


def dry(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", "-n", *arguments], cwd=ROOT, text=True, capture_output=True, check=False)


@pytest.mark.parametrize(("given", "fast"), [
    ((), False), (("FAST=",), False), (("FAST=0",), False), (("FAST=no",), False), (("FAST=false",), False),
    (("FAST=1",), True), (("FAST=yes",), True), (("FAST=true",), True)])
def test_the_demo_is_short_where_it_was_asked_to_be(given, fast):
    done = dry("demo", *given)
    assert done.returncode == 0
    assert ("--fast" in done.stdout) is fast


@pytest.mark.parametrize("fast", [False, True])
def test_the_headline_is_the_demo_of_both_targets(fast):
    lines = dry("headline", *(["FAST=1"] if fast else [])).stdout.splitlines()
    (line,) = [line for line in lines if "specflash" in line]
    assert ("--fast" in line) is fast
    targets = [one.target.name for one in experiments(load_settings("jobs/configs/headline.yaml"))]
    assert targets == ["llava-smol", "qwen2.5-vl-smol"]


@pytest.mark.parametrize(("given", "run"), [((), ""), (("FAST=1",), "run=runs/demo-fast")])
def test_the_arena_is_that_of_the_demo_that_was_made(given, run):
    (line,) = [line for line in dry("arena", *given).stdout.splitlines() if "specflash serve" in line]
    assert line.split("demo.yaml")[1].strip() == run


def test_what_is_neither_yes_nor_no_is_told():
    done = dry("demo", "FAST=perhaps")
    assert done.returncode == 2
    assert "write FAST=1 or leave it out" in done.stderr
    assert "flashbench" not in done.stdout


def test_real_weights_are_tested_where_they_are_named():
    done = dry("test-weights", "TARGET=llava-1.6", "WEIGHTS=/weights")
    assert done.returncode == 0
    assert "SPECFLASH_TARGET=llava-1.6 SPECFLASH_WEIGHTS=/weights" in done.stdout
    for given in ((), ("TARGET=llava-1.6",), ("WEIGHTS=/weights",)):
        refused = dry("test-weights", *given)
        assert refused.returncode == 2
        assert "name both" in refused.stderr
