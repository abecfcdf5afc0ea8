"""The constant-length cache: writes where it stands, returns everything, forgets without copying."""

import pytest
import torch
from transformers import DynamicCache, LlamaConfig, LlamaModel

from specflash.cache import BLOCK, HEADROOM, FixedCache, cache_length, causal_mask

LAYERS, HEADS, SIZE, LENGTH = 2, 2, 4, 12


def rows(count: int, seed: int) -> torch.Tensor:
    return torch.randn(1, HEADS, count, SIZE, generator=torch.Generator().manual_seed(seed))


def write(cache: FixedCache, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    for layer in range(LAYERS):
        keys, values = cache.update(states, -states, layer)
    cache.advance(states.shape[2])
    return keys, values


def test_update_writes_at_the_position_and_returns_the_whole_buffer():
    cache = FixedCache(LAYERS, LENGTH)
    first, second = rows(5, 0), rows(3, 1)
    write(cache, first)
    keys, values = write(cache, second)
    assert keys.shape == values.shape == (1, HEADS, LENGTH, SIZE)
    assert torch.equal(keys[:, :, :8], torch.cat([first, second], 2))
    assert torch.equal(values, -keys)
    assert not keys[:, :, 8:].any()
    assert cache.position == cache.get_seq_length() == 8


def test_layers_have_buffers_of_their_own():
    cache = FixedCache(LAYERS, LENGTH)
    cache.update(rows(2, 0), rows(2, 0), 0)
    keys, _ = cache.update(rows(2, 1), rows(2, 1), 1)
    assert torch.equal(keys[:, :, :2], rows(2, 1))
    assert torch.equal(cache.layers[0].keys[:, :, :2], rows(2, 0))


def test_rewind_copies_nothing_and_the_next_rows_overwrite():
    cache = FixedCache(LAYERS, LENGTH)
    keys, _ = write(cache, rows(6, 0))
    storage = keys.data_ptr()
    cache.rewind(4)
    keys, _ = write(cache, rows(1, 1))
    assert cache.position == 3
    assert keys.data_ptr() == storage
    assert torch.equal(keys[:, :, :3], torch.cat([rows(6, 0)[:, :, :2], rows(1, 1)], 2))
    assert torch.equal(keys[:, :, 3:6], rows(6, 0)[:, :, 3:])  # stale until written again


def test_keep_gathers_the_rows_of_a_path_and_forgets_the_others():
    cache = FixedCache(LAYERS, LENGTH)
    write(cache, rows(3, 0))
    write(cache, rows(6, 1))
    cache.keep([0, 2, 5], last=6)
    assert cache.position == 6
    for layer in cache.layers:
        assert torch.equal(layer.keys[:, :, 3:6], rows(6, 1)[:, :, [0, 2, 5]])
        assert torch.equal(layer.values[:, :, 3:6], -rows(6, 1)[:, :, [0, 2, 5]])
        assert torch.equal(layer.keys[:, :, :3], rows(3, 0))


def test_keep_moves_nothing_where_the_first_rows_stay():
    cache = FixedCache(LAYERS, LENGTH)
    write(cache, rows(6, 1))
    before = [layer.keys.clone() for layer in cache.layers]
    cache.keep([0, 1], last=6)
    assert cache.position == 2
    assert all(torch.equal(layer.keys, keys) for layer, keys in zip(cache.layers, before, strict=True))


def test_writing_past_the_end_is_an_error():
    cache = FixedCache(LAYERS, LENGTH)
    write(cache, rows(LENGTH, 0))
    with pytest.raises(ValueError, match=f"entry {LENGTH + 1} lies outside a cache of {LENGTH}"):
        cache.update(rows(1, 1), rows(1, 1), 0)


@pytest.mark.parametrize("position", [-1, LENGTH + 1])
def test_position_outside_the_cache_is_an_error(position):
    cache = FixedCache(LAYERS, LENGTH)
    with pytest.raises(ValueError, match=f"position {position} lies outside"):
        cache.position = position


def test_mask_views_show_exactly_what_a_row_may_see():
    mask = causal_mask(8)
    view = mask[3:6][None, None]
    assert view.shape == (1, 1, 3, 8)
    assert view.data_ptr() == mask[3:].data_ptr()
    assert view[0, 0].sum(-1).tolist() == [4, 5, 6]
    assert view[0, 0, 0].tolist() == [True] * 4 + [False] * 4


@pytest.mark.parametrize(("prompt", "new"), [(1, 1), (31, 1), (32, 1), (600, 64), (639, 128), (64, 64)])
def test_length_is_a_multiple_of_the_block_with_room_for_the_widest_pass(prompt, new):
    length = cache_length(prompt, new)
    assert length % BLOCK == 0
    assert 0 <= length - (prompt + new + HEADROOM) < BLOCK


def llama(attention: str) -> LlamaModel:
    torch.manual_seed(0)
    return LlamaModel(LlamaConfig(vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=LAYERS,
                                  num_attention_heads=4, num_key_value_heads=2, initializer_range=0.2,
                                  attn_implementation=attention)).eval()


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_model_gives_what_it_gives_with_its_own_cache(attention):
    """Prefill, a rejected block, and another block in its place."""
    model = llama(attention)
    cache, mask = FixedCache(LAYERS, 64), causal_mask(64)
    if attention == "eager":  # adds its mask to the scores
        mask = torch.zeros(64, 64).masked_fill(~mask, -torch.inf)

    def forward(ids: torch.Tensor) -> torch.Tensor:
        place = slice(cache.position, cache.position + ids.shape[1])
        features = model(ids, cache=cache, use_cache=True, attention_mask=mask[place][None, None],
                         position_ids=torch.arange(64)[place][None]).last_hidden_state
        cache.advance(ids.shape[1])
        return features

    prompt, rejected, block = (torch.randint(0, 50, (1, count)) for count in (20, 5, 4))
    with torch.inference_mode():
        forward(prompt)
        forward(rejected)
        cache.rewind(5)
        features = forward(block)
        reference = model(torch.cat([prompt, block], 1), cache=DynamicCache()).last_hidden_state
    torch.testing.assert_close(features, reference[:, 20:], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_prefill_is_a_pass_without_a_cache_to_the_last_bit(attention):
    """And it leaves behind what later passes need."""
    model = llama(attention)
    cache, prompt = FixedCache(LAYERS, 64), torch.randint(0, 50, (1, 20))
    with torch.inference_mode():
        with cache.prefilling():
            features = model(prompt, cache=cache, use_cache=True, position_ids=torch.arange(20)[None]).last_hidden_state
        assert torch.equal(features, model(prompt, use_cache=False).last_hidden_state)
        cache.advance(20)
        keys, _ = write(cache, torch.zeros(1, 2, 1, 8))
    assert keys.shape[2] == 64
    assert keys[:, :, :20].abs().sum() > 0
