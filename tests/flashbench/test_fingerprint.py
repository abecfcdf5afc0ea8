"""What a result says about the machine and the code it came from."""

import json
import os
from importlib.metadata import version

import pytest

from flashbench import fingerprint
from flashbench.fingerprint import LIBRARIES, describe_code, describe_machine, machine_state
from flashbench.settings import load_settings

SMI = "NVIDIA H200, 1980 MHz, 3201 MHz, 41, 120.5 W, 570.1"


def test_the_code_names_commit_settings_and_every_library():
    settings = load_settings("jobs/configs/demo.yaml")
    told = describe_code(settings)
    assert set(told) == {"commit", "engine", "settings", "versions"}
    assert told["versions"] == {name: version(name) for name in LIBRARIES}
    assert set(LIBRARIES) >= {"torch", "transformers", "ray", "mlflow", "numpy"}
    assert describe_code(settings.model_copy(update={"threads": 7}))["settings"] != told["settings"]


def test_the_machine_is_the_same_as_often_as_it_is_asked():
    assert describe_machine() == describe_machine()
    assert describe_machine()["cores"] == os.cpu_count()
    assert describe_machine()["cpu"]


def test_its_state_has_load_and_clocks():
    state = machine_state()
    assert state["load"] >= 0
    assert state["cpu_mhz"] is None or state["cpu_mhz"] > 100
    assert json.loads(json.dumps(state)) == state


@pytest.mark.parametrize(("script", "found"), [
    (f"echo '{SMI}'", [dict(zip(fingerprint.GPU_FIELDS, SMI.split(", "), strict=True))]),
    ("echo 'no devices were found'; exit 6", [])])
def test_gpus_are_read_with_nvidias_tool(tmp_path, monkeypatch, script, found):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert machine_state()["gpus"] == found
