"""Grouped attention is the library's own, without its copies."""

import pytest
import torch
from torch import nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from specflash.targets import attention
from specflash.targets.attention import GROUPED, grouped_attention
from tests.tiny import make_sample, tiny_target


def module(groups):
    layer = nn.Module()
    layer.num_key_value_groups, layer.is_causal = groups, True
    return layer.eval()


@pytest.mark.parametrize("rows", [1, 2, 5, 32, 33])
@pytest.mark.parametrize(("heads", "shared"), [(9, 3), (4, 4), (4, 1)])
def test_it_equals_the_librarys_sdpa(rows, heads, shared):
    torch.manual_seed(0)
    query, key, value = torch.randn(2, heads, rows, 8), torch.randn(2, shared, 70, 8), torch.randn(2, shared, 70, 8)
    mask = torch.ones(70, 70, dtype=torch.bool).tril()[-rows - 3:70 - 3][None, None]
    layer = module(heads // shared)
    ours, _ = grouped_attention(layer, query, key, value, mask, scaling=0.3)
    theirs, _ = sdpa_attention_forward(layer, query, key, value, mask, scaling=0.3)
    assert ours.shape == (2, rows, heads, 8)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_without_a_mask_the_library_decides():
    query, key, value = torch.randn(1, 4, 6, 8), torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8)
    ours, _ = grouped_attention(module(2), query, key, value, None)
    theirs, _ = sdpa_attention_forward(module(2), query, key, value, None)
    assert torch.equal(ours, theirs)


def test_a_loaded_target_runs_on_it(tmp_path, monkeypatch):
    from transformers import AttentionInterface

    target, calls = tiny_target(tmp_path), []

    def counted(*args, **kwargs):
        calls.append(args[1].shape)
        return grouped_attention(*args, **kwargs)

    monkeypatch.setitem(AttentionInterface._global_mapping, GROUPED, counted)
    prompt = target.encode(make_sample())
    target.forward(target.embed_prompt(prompt), None, target.positions(prompt, 0, prompt.length), None, 1)
    assert [shape[1] for shape in calls].count(4) == 2   # two layers of four heads


def test_a_single_row_in_bf16_on_a_cpu_is_not_left_to_the_librarys_slow_kernel(monkeypatch):
    """Vanilla decodes such rows: it must not be slower than it needs to be."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, heads, rows, 8) for heads, rows in ((9, 1), (3, 40), (3, 40)))
    exact, _ = sdpa_attention_forward(module(3), query, key, value, None, scaling=0.3)
    monkeypatch.setattr(attention, "sdpa_attention_forward", None)
    ours, _ = grouped_attention(module(3), query.bfloat16(), key.bfloat16(), value.bfloat16(), None, scaling=0.3)
    assert ours.shape == (1, 1, 9, 8) and ours.dtype == torch.bfloat16
    torch.testing.assert_close(ours.float(), exact, atol=0.03, rtol=0.03)
