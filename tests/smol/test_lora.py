"""Merged deltas give what the layer beside its frozen one gives."""

import torch
from torch import nn

from specflash.smol.lora import PLACES, LoraLinear, add_lora, lora_tensors, merge_lora


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = nn.Module()
        self.mlp = nn.Module()
        for place in (*PLACES, "self_attn.k_proj"):
            part, name = place.split(".")
            setattr(getattr(self, part), name, nn.Linear(12, 12, bias=False))


def test_training_starts_at_the_frozen_layer():
    frozen, x = nn.Linear(12, 5, bias=False), torch.randn(3, 12)
    assert torch.equal(LoraLinear(frozen)(x), frozen(x))


def test_merged_weights_equal_the_delta_beside_the_layer():
    layer = Layer()
    before = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    add_lora(layer)
    for module in layer.modules():
        if isinstance(module, LoraLinear):
            nn.init.normal_(module.up)
    merged = merge_lora(before, lora_tensors(layer))
    x = torch.randn(4, 12)
    for place in PLACES:
        part, name = place.split(".")
        beside = getattr(getattr(layer, part), name)(x)
        assert torch.allclose(beside, x @ merged[f"{place}.weight"].T, atol=1e-5)
    assert torch.equal(merged["self_attn.k_proj.weight"], before["self_attn.k_proj.weight"])
