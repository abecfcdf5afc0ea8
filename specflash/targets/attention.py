"""Attention of a few rows over a long cache, for models with fewer key heads than query heads.

Transformers copies every key and value once per query head that shares it, except for a single
row. Verification has a few rows, and the copies then cost it more than the attention itself. Here
the query heads of one key head become further rows instead, and nothing is copied. It is
registered under a name of its own, through the library's own interface.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from specflash.cache import HEADROOM

GROUPED = "sdpa_grouped"


def grouped_attention(module: nn.Module, query: Tensor, key: Tensor, value: Tensor,
                      attention_mask: Tensor | None, scaling: float | None = None, dropout: float = 0.0,
                      **kwargs) -> tuple[Tensor, None]:
    """What "sdpa" computes.

    query           [B, H, R, d]
    key, value      [B, H_kv, T, d], H a multiple of H_kv
    attention_mask  [B or 1, 1, R, T] bool or additive, or None
    returns         [B, R, H, d] and no weights
    """
    heads, rows = query.shape[1:3]
    groups = heads // key.shape[1]
    if groups > 1 and rows == 1 and attention_mask is None and _is_slow_for_one_row(query):
        return _stacked(query, key, value, None, scaling), None
    if groups == 1 or rows > HEADROOM or attention_mask is None or attention_mask.shape[1] != 1 or dropout:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling,
                                      dropout=dropout, **kwargs)
    return _stacked(query, key, value, attention_mask.repeat(1, 1, groups, 1), scaling), None


def _stacked(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float | None) -> Tensor:
    """mask: [B, 1, G·R, T], or None where every row sees everything. Returns [B, R, H, d]."""
    batch, heads, rows, width = query.shape
    stacked = query.reshape(batch, key.shape[1], -1, width)                            # [B, H_kv, G·R, d]
    seen = F.scaled_dot_product_attention(stacked, key, value, mask, scale=scaling)
    return seen.reshape(batch, heads, rows, width).transpose(1, 2).contiguous()


def _is_slow_for_one_row(query: Tensor) -> bool:
    """On CPUs the kernel that "sdpa" comes to for a single row takes some six times as long in bf16 as this one."""
    return query.device.type == "cpu" and query.dtype != torch.float32


AttentionInterface.register(GROUPED, grouped_attention)
AttentionMaskInterface.register(GROUPED, sdpa_mask)
