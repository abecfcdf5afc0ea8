"""Laws of split and batching: by content, complete, even, the same from any resume point."""

import random
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from flashbench.dump.store import FeatureStore
from flashbench.train.data import Plan, Reader, answer_vocabulary, split
from specflash.errors import UserError
from tests.flashbench.train.conftest import CYCLE

IDS = [f"id-{number}" for number in range(400)]


def plan(samples: int = 53, batch: int = 4, world: int = 2, accumulate: int = 2, seed: int = 0) -> Plan:
    lengths = tuple(random.Random(1).choices(range(50, 900), k=samples))
    return Plan(lengths, batch, world, accumulate, seed)


def epoch(batches: Plan, number: int) -> list[list[list[list[int]]]]:
    """[step][rank][micro-step] -> samples"""
    first = number * batches.steps_per_epoch
    return [[batches.at(step, rank) for rank in range(batches.world)]
            for step in range(first, first + batches.steps_per_epoch)]


def test_a_sample_keeps_its_side_whatever_the_order_and_the_company():
    train, held_out = split(IDS, 0.2)
    shuffled = random.Random(0).sample(IDS, len(IDS))
    assert split(shuffled, 0.2) == (train, held_out)
    half_train, half_held_out = split(IDS[:200], 0.2)
    assert set(half_train) < set(train)
    assert set(half_held_out) < set(held_out)


def test_the_split_is_a_partition_of_about_the_share():
    train, held_out = split(IDS, 0.2)
    assert sorted(train + held_out) == sorted(IDS)
    assert 0.14 < len(held_out) / len(IDS) < 0.26


def test_a_small_store_still_holds_out_as_many_as_asked_for():
    train, held_out = split(IDS[:4], 1e-6, at_least=2)
    assert (len(train), len(held_out)) == (2, 2)


@given(samples=st.integers(1, 120), batch=st.integers(1, 5), world=st.integers(1, 4),
       accumulate=st.integers(1, 3), seed=st.integers(0, 3), number=st.integers(0, 2))
def test_every_sample_comes_once_per_epoch_and_no_rank_is_ever_idle(samples, batch, world, accumulate, seed, number):
    if samples < world * accumulate:
        with pytest.raises(UserError, match=f"{samples} samples are too few"):
            plan(samples, batch, world, accumulate, seed)
        return
    batches = plan(samples, batch, world, accumulate, seed)
    cells = [cell for step in epoch(batches, number) for rank in step for cell in rank]
    assert Counter(place for cell in cells for place in cell) == Counter(range(samples))
    assert all(len(rank) == accumulate for step in epoch(batches, number) for rank in step)
    sizes = {len(cell) for cell in cells}
    assert min(sizes) >= 1
    assert max(sizes) <= batch or batches.steps_per_epoch == samples // (world * accumulate)


def test_any_step_can_be_asked_for_first():
    forward = [plan().at(step, 1) for step in range(40)]
    for step in reversed(range(40)):
        fresh = plan()
        assert fresh.at(step, 1) == forward[step]


def test_epochs_and_seeds_differ():
    assert epoch(plan(), 0) != epoch(plan(), 1)
    assert epoch(plan(seed=0), 0) != epoch(plan(seed=1), 0)


def test_batches_hold_samples_of_similar_length():
    """Padding is a small part of what random batches would pad."""
    def padded(cells: list[list[int]]) -> int:
        return sum(len(cell) * max(lengths[place] for place in cell) for cell in cells) - sum(lengths)

    batches = plan(samples=400, accumulate=1)
    lengths = batches.lengths
    planned = [cell for step in epoch(batches, 0) for rank in step for cell in rank]
    order = random.Random(0).sample(range(400), 400)
    assert padded(planned) < 0.2 * padded([order[start : start + 4] for start in range(0, 400, 4)])


def test_a_batch_is_read_by_id_in_the_dtype_of_the_draft(experiment):
    store = FeatureStore(experiment.dump_folder)
    ids = ["sample-3", "sample-20"]
    batch = Reader(store, ids, torch.float32, torch.device("cpu")).batch([1, 0])
    wanted = store.read("sample-20")
    assert torch.equal(batch.ids[0, : len(wanted.ids)], wanted.ids)
    assert torch.equal(batch.features[0, : len(wanted.ids)], wanted.features.float())
    assert batch.lengths.tolist() == [len(store.read(id).ids) for id in reversed(ids)]


def test_the_draft_vocabulary_is_what_answers_are_made_of(experiment):
    chosen = answer_vocabulary(FeatureStore(experiment.dump_folder), CYCLE, 300)
    assert sorted(chosen.tolist()) == [100 + token for token in range(CYCLE)]
