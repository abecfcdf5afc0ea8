"""A request's keys in the shared cache are those of a cache of its own."""

import pytest
import torch

from specflash.shared_cache import SharedCache, together_mask

HEADS, WIDTH = 2, 4


def states(rows: int, seed: int, requests: int = 1) -> torch.Tensor:
    return torch.randn(requests, HEADS, rows, WIDTH, generator=torch.Generator().manual_seed(seed))


def write(cache, keys):
    return cache.layers[0].update(keys, -keys)


def test_each_request_reads_what_it_wrote_and_nothing_of_others():
    shared = SharedCache(layers=1, requests=3, length=8)
    for slot in range(3):
        keys, values = write(shared.one(slot, 0), states(slot + 2, seed=slot))
        assert torch.equal(keys, states(slot + 2, seed=slot))
        assert torch.equal(values, -keys)
    keys, _ = write(shared.one(1, 3), states(2, seed=9))
    assert torch.equal(keys, torch.cat([states(3, seed=1), states(2, seed=9)], 2))


def test_a_pass_of_one_row_each_writes_behind_every_request():
    shared, held = SharedCache(layers=1, requests=3, length=8), [2, 5, 3]
    for slot, rows in enumerate(held):
        write(shared.one(slot, 0), states(rows, seed=slot))
    new = states(1, seed=7, requests=2)
    keys, _ = write(shared.together(torch.tensor(held[:2])), new)
    mask = together_mask(torch.tensor(held[:2]))
    assert keys.shape[2] == mask.shape[-1] == 6
    for slot in range(2):
        seen = keys[slot, :, mask[slot, 0, 0]]
        assert torch.equal(seen, torch.cat([states(held[slot], seed=slot)[0], new[slot]], 1))
    assert torch.equal(write(shared.one(2, 3), states(1, seed=8))[0][:, :, :3], states(3, seed=2))


def test_a_moved_request_goes_on_in_its_new_slot():
    shared = SharedCache(layers=1, requests=2, length=8)
    write(shared.one(0, 0), states(6, seed=0))
    write(shared.one(1, 0), states(4, seed=1))
    shared.move(1, 0, held=4)
    keys, _ = write(shared.one(0, 4), states(1, seed=2))
    assert torch.equal(keys, torch.cat([states(4, seed=1), states(1, seed=2)], 2))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="entry 9 lies outside a cache of 8 entries"):
        write(SharedCache(1, 1, 8).one(0, 0), states(9, seed=0))
