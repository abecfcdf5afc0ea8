"""What serving will hold, from the headers of the files, before anything loads."""

from collections import namedtuple

import pytest
import torch
from safetensors.torch import save_file

from flashbench.serve import plan
from flashbench.settings import Settings
from specflash.errors import UserError
from specflash.targets import load_target
from tests.tiny import save_tiny_llava

DRAFT_NUMBERS = 1000


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return save_tiny_llava(tmp_path_factory.mktemp("target"))


@pytest.fixture
def settings_of(weights, tmp_path):
    (tmp_path / "drafts/eagle").mkdir(parents=True)
    save_file({"a": torch.zeros(25, 30), "b": torch.zeros(250)}, tmp_path / "drafts/eagle/model.safetensors")

    def make(**serve) -> Settings:
        return Settings.model_validate({
            "name": "t", "run": tmp_path, "dump": {"source": {"dataset": "llava-instruct"}},
            "bench": {"tasks": {"any": {"source": {"dataset": "photographs"}}}},
            "target": {"name": "llava-1.5", "weights": str(weights), "device": "cpu"},
            "serve": {"methods": ["vanilla", "eagle"]} | serve})

    return make


def test_the_bytes_of_the_files_are_those_of_the_loaded_parameters(settings_of, weights):
    model = load_target("llava-1.5", str(weights), "bfloat16", "cpu", plain=True).model
    loaded = sum(parameter.numel() for parameter in model.parameters())
    assert plan.target_bytes(settings_of()) == 4 * loaded
    assert plan.target_bytes(settings_of(dtype="bfloat16")) == 2 * loaded


def test_a_draft_counts_as_it_will_be_loaded_and_vanilla_as_nothing(settings_of):
    assert plan.draft_bytes(settings_of(), "eagle") == 4 * DRAFT_NUMBERS
    assert plan.draft_bytes(settings_of(dtype="float16"), "eagle") == 2 * DRAFT_NUMBERS
    assert plan.draft_bytes(settings_of(), "vanilla") == 0


def test_isolated_holds_a_target_per_method_and_shared_one(settings_of):
    target, draft = plan.target_bytes(settings_of()), 4 * DRAFT_NUMBERS
    assert plan.all_bytes(settings_of()) == 2 * target + draft
    assert plan.all_bytes(settings_of(layout="shared")) == target + draft
    assert plan.all_bytes(settings_of(layout="shared", max_replicas=3)) == 3 * (target + draft)


def test_the_plan_names_every_deployment_and_the_sum(settings_of, capsys):
    plan.show_plan(settings_of(cpus_per_replica=0.5, max_replicas=2))
    shown = capsys.readouterr().out
    assert "serving llava-1.5 in float32, layout isolated" in shown
    rows = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in shown.splitlines() if "│" in line]
    assert [row[0] for row in rows] == ["ingress", "vanilla", "eagle", "together"]
    assert rows[2][:5] == ["eagle", "eagle", "1 … 2", "0.5", "0"]
    assert rows[3][2:4] == ["5", "2.1"]


def test_more_weights_than_memory_are_told_with_what_to_do(settings_of, monkeypatch):
    settings = settings_of()
    wanted = plan.all_bytes(settings)
    Memory = namedtuple("Memory", "available")
    monkeypatch.setattr(plan.psutil, "virtual_memory", lambda: Memory(wanted))
    plan.check_memory(settings)
    monkeypatch.setattr(plan.psutil, "virtual_memory", lambda: Memory(wanted - 1))
    with pytest.raises(UserError, match=r"the weights of 2 replicas are .* and this machine has .* of memory free: .*"
                                        r"serve\.layout=shared"):
        plan.check_memory(settings)
    with pytest.raises(UserError) as caught:
        plan.check_memory(settings_of(layout="shared", replicas=99))
    assert "layout" not in str(caught.value)


def test_a_damaged_header_is_told(settings_of, tmp_path):
    (tmp_path / "drafts/eagle/model.safetensors").write_bytes(b"\x10" + bytes(7) + b"no header")
    with pytest.raises(UserError, match="is damaged"):
        plan.draft_bytes(settings_of(), "eagle")
