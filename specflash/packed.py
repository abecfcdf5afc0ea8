"""Linear layers whose weights are laid out once for the CPU's own kernels.

Decoding multiplies each weight with one to a dozen rows. The plain layer lays the weights out anew
in every such product, or falls back to a kernel made for large matrices: on two AVX2 cores five
rows then cost 1.5 times one row, packed 1.2 times, and one row gets faster too (docs/speed.md).
What is computed is the same; every method that decodes, vanilla among them, runs on it.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn


class PackedLinear(nn.Module):
    """x ↦ x·Wᵀ + b for inference on a CPU in float32.

    keep_weight  also keep the plain [out, in] weight, for those who read it as a table
    """

    def __init__(self, linear: nn.Linear, keep_weight: bool):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        if keep_weight:
            self.weight = linear.weight
        self.bias = linear.bias
        # Not a buffer: an opaque layout can be neither saved nor moved.
        self._packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def can_pack(model: nn.Module) -> bool:
    """True where packed layers exist and are known to help: float32 on a CPU with oneDNN."""
    weight = next(model.parameters())
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and torch.backends.mkldnn.is_available()


def pack_linears(model: nn.Module, keep: Callable[[nn.Linear], bool]) -> None:
    """Replace every nn.Linear inside a frozen model, for good.

    keep  whether a layer also keeps its plain weight, because somebody reads it
    """
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear:
                setattr(parent, name, PackedLinear(child, keep(child)))
