"""The head against a dense reference: all (t, i) rows in one sequence under the mask's definition."""

import pytest
import torch

from specflash.drafts.blocks import BlockShape
from specflash.drafts.rotary import rotate, turn
from specflash.drafts.slots import SlotHead

WIDTH, HEADS, HEAD_DIM = 16, 2, 8


def make_head(slots: int = 4, layers: int = 1) -> SlotHead:
    shape = BlockShape(WIDTH, HEADS, HEAD_DIM, inner=32, bias=True, input_norm=True, dropout=0.1)
    head = SlotHead(slots, layers, shape).eval()
    generator = torch.Generator().manual_seed(2)
    for parameter in head.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.2
    return head


def bases(count: int, samples: int = 1) -> torch.Tensor:
    return torch.randn(samples, count, WIDTH, generator=torch.Generator().manual_seed(3))


def dense(head: SlotHead, x: torch.Tensor) -> torch.Tensor:
    """x [T, D] -> [T, K, D]: query (t, i) sees key (t', j) iff t' < t and j = 0, or t' = t and j ≤ i."""
    T, K = len(x), len(head.offsets)
    t, i = torch.arange(T).repeat_interleave(K), torch.arange(K).repeat(T)
    seen = ((t < t[:, None]) & (i == 0)) | ((t == t[:, None]) & (i <= i[:, None]))
    by = turn(t + i, HEAD_DIM, x.dtype)
    rows = (x[:, None] + head.offsets).flatten(0, 1)                              # [T·K, D]
    for block in head.blocks:
        part, normed = block.attention, block.attention_norm(rows)
        q, k, v = (linear(normed).unflatten(-1, (HEADS, HEAD_DIM)).transpose(0, 1)
                   for linear in (part.q, part.k, part.v))
        scores = rotate(q, by) @ rotate(k, by).mT / HEAD_DIM ** 0.5
        mixed = scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v
        rows = rows + part.o(mixed.transpose(0, 1).flatten(1))
        rows = rows + block.feed(block.feed_norm(rows))
    return rows.unflatten(0, (T, K))


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("layers", [1, 3])
def test_equals_the_dense_mask(slots, layers):
    head, x, at = make_head(slots, layers), bases(9, 2), torch.tensor([[1, 4, 8], [0, 0, 5]])
    out = head(x, at)
    for b in range(2):
        torch.testing.assert_close(out[b], dense(head, x[b])[at[b]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layers", [1, 2])
def test_cached_in_pieces_equals_one_pass(layers):
    head, x = make_head(layers=layers), bases(12)
    with torch.inference_mode():
        whole, buffers, start = dense(head, x[0]), head.new_buffers(12), 0
        for piece in (5, 1, 4, 2):
            end = start + piece
            out = head(x[:, start:end], torch.tensor([[piece - 1]]), buffers=buffers)
            torch.testing.assert_close(out[0, 0], whole[end - 1], rtol=1e-4, atol=1e-5)
            start = end


def test_kept_rows_are_those_of_the_full_answer():
    head, x, at = make_head(), bases(9, 2), torch.tensor([[1, 4], [0, 5]])
    keep = torch.rand(2, 2, 4, generator=torch.Generator().manual_seed(0)) < 0.5
    torch.testing.assert_close(head(x, at, keep), head(x, at)[keep])


@pytest.mark.parametrize("layers", [1, 2])
def test_later_bases_and_other_blocks_change_nothing(layers):
    head, x, at = make_head(layers=layers), bases(9), torch.tensor([[3, 6]])
    before = head(x, at)[0, 0]
    later = x.clone()
    later[:, 4:] += 1
    assert torch.equal(head(later, at)[0, 0], before)
    torch.testing.assert_close(head(x, torch.tensor([[3]]))[0, 0], before)


def test_earlier_bases_change_every_slot():
    head, x, at = make_head(), bases(9), torch.tensor([[3]])
    earlier = x.clone()
    earlier[:, 0] += 1
    changed = (head(earlier, at) != head(x, at)).any(-1)
    assert changed.all()


def test_a_slot_sees_the_slots_before_it_only():
    head, x, at = make_head(), bases(9), torch.tensor([[3]])
    before = head(x, at)[0, 0]
    head.offsets.data[2] += 1
    changed = (head(x, at)[0, 0] != before).any(-1)
    assert changed.tolist() == [False, False, True, True]


def test_the_gate_adds_the_base_feature_times_g():
    head = make_head()
    rows, features = bases(3)[0], bases(3)[0] + 1
    gated = head.gate(rows, torch.tensor([0, 3, 3]), features)
    torch.testing.assert_close(gated[2], rows[2] + head.residual[3] * features[2])
    torch.testing.assert_close(gated[0], rows[0] + head.residual[0] * features[0])


def test_a_fresh_head_starts_near_the_base_feature():
    shape = BlockShape(WIDTH, HEADS, HEAD_DIM, inner=32, bias=True, input_norm=True, dropout=0.1)
    head = SlotHead(4, 1, shape).eval()
    assert head.residual.tolist() == [1, 1, 1, 1] and not head.offsets[0].any()
    x = torch.zeros(1, 5, WIDTH)
    assert head(x, torch.tensor([[4]])).abs().max() < 0.1
