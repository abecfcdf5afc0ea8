"""Packed layers compute what the plain ones do, whatever the number of rows."""

import pytest
import torch
from torch import nn

from specflash.packed import PackedLinear, can_pack, pack_linears

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("width", "out"), [(576, 192), (32, 300), (7, 5)])
def test_it_is_the_plain_layer(width, out, bias):
    torch.manual_seed(0)
    plain = nn.Linear(width, out, bias=bias).requires_grad_(False)
    packed = PackedLinear(plain, keep_weight=False)
    for rows in (1, 2, 5, 9, 70):
        x = torch.randn(1, rows, width)
        assert torch.allclose(packed(x), plain(x), atol=1e-5)
        assert packed(x).shape == (1, rows, out)


def test_every_linear_layer_is_replaced_and_only_the_kept_weight_stays():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Sequential(nn.GELU(), nn.Linear(16, 8)), nn.Linear(8, 4))
    model.requires_grad_(False)
    x = torch.randn(3, 8)
    expected, head = model(x), model[2]
    assert can_pack(model)
    pack_linears(model, keep=lambda layer: layer is head)
    assert torch.allclose(model(x), expected, atol=1e-6)
    assert not any(isinstance(module, nn.Linear) for module in model.modules())
    assert model[2].weight is head.weight
    assert [name for name, _ in model.named_parameters() if "weight" in name] == ["2.weight"]


def test_other_dtypes_are_left_alone():
    assert not can_pack(nn.Linear(4, 4).to(torch.bfloat16))
