"""Low-rank deltas on the frozen language model (LoRA, Hu et al. 2021). It knows no picture."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

RANK = 8
PLACES = ("self_attn.q_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.down_proj")


class LoraLinear(nn.Module):
    """y = W x + up(down(x)); `up` starts at zero, so training starts at the frozen layer."""

    def __init__(self, frozen: nn.Linear):
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(RANK, frozen.in_features) / frozen.in_features ** 0.5)
        self.up = nn.Parameter(torch.zeros(frozen.out_features, RANK))

    def forward(self, x: Tensor) -> Tensor:
        return self.frozen(x) + F.linear(F.linear(x, self.down), self.up)


def add_lora(model: nn.Module) -> None:
    """Put a delta beside each layer of PLACES in every decoder layer."""
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and name.endswith(PLACES):
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], LoraLinear(module))


def lora_tensors(model: nn.Module) -> dict[str, Tensor]:
    """`<layer>.down` [RANK, in] and `<layer>.up` [out, RANK], to be stored."""
    deltas = {}
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            deltas[f"{name}.down"], deltas[f"{name}.up"] = module.down.data, module.up.data
    return deltas


def merge_lora(tensors: dict[str, Tensor], deltas: dict[str, Tensor]) -> dict[str, Tensor]:
    """The language model's tensors with W + up·down in place of W, in float32."""
    merged = dict(tensors)
    for name in deltas:
        layer, _, kind = name.rpartition(".")
        if kind == "up":
            change = deltas[name].float() @ deltas[f"{layer}.down"].float()   # [out, in]
            merged[f"{layer}.weight"] = tensors[f"{layer}.weight"] + change
    return merged
