"""Around DeepSpeed's engine: what a worker is spared."""

import importlib
import subprocess
import sys

import pytest
import torch

from flashbench.train.engine import hidden, nothing_compiled


def test_a_hidden_module_is_not_found_inside_and_found_afterwards():
    sys.modules.pop("colorsys", None)
    with hidden("colorsys"), pytest.raises(ImportError):
        importlib.import_module("colorsys")
    assert importlib.import_module("colorsys") is sys.modules["colorsys"]


def test_what_is_loaded_stays():
    import json
    with hidden("json"):
        assert importlib.import_module("json") is json
    assert sys.modules["json"] is json


def test_nothing_is_compiled_inside_and_all_can_be_afterwards():
    compile = torch.compile
    with nothing_compiled():
        assert torch.compile(dynamic=True)(len) is len
    assert torch.compile is compile


def test_a_process_is_spared_what_only_others_need():
    """Seconds of each worker's start: the target's modelling code, and what only the driver writes to."""
    code = ("import sys; import flashbench.train.loop, flashbench.serve.ingress; "
            "from flashbench.train.engine import import_deepspeed; import_deepspeed(gpu=False); "
            "assert not {'transformers.modeling_utils', 'torch._dynamo'} & set(sys.modules); "
            "assert 'deepspeed' in sys.modules and 'mlflow' not in sys.modules; import mlflow.version")
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"})
