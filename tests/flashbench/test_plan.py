"""The plan of a dump: its bytes are those of the store, and it says before anything runs whether the disk has room."""

import json
from types import SimpleNamespace

import pytest
import torch

from flashbench import plan
from flashbench.dump.estimate import Probe, Shape, Work, estimate, work_of
from flashbench.dump.read import open_source
from flashbench.plan import run_plan
from specflash.errors import UserError
from specflash.targets import load_encoder, load_target, weights_bytes
from tests.flashbench.dump.source import dump_here, exchange, settings_for, tensor_bytes, write_rows, write_source
from tests.tiny import save_tiny_llava

WIDTH, SAMPLES = 32, 6


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return save_tiny_llava(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture
def settings(weights, tmp_path):
    """Six samples of four pictures, in pieces of up to three."""
    folder = write_source(tmp_path / "data", SAMPLES)
    rows = list(map(exchange, range(SAMPLES)))
    for number in (1, 4):
        rows[number]["image"] = rows[0]["image"]
    write_rows(folder, rows)
    made = settings_for(weights, folder, tmp_path / "run", batch=3, reserve_mb=1)
    return made.model_copy(update={"target": made.target.model_copy(update={"device": "cpu"})})


def planned(settings) -> dict:
    return json.loads((settings.run / "plan.json").read_text())


@pytest.mark.parametrize("timed", [False, True])
def test_the_bytes_of_the_plan_are_those_of_the_store(settings, timed, capsys):
    assert run_plan(settings, samples=SAMPLES, timed=timed)
    told = planned(settings)
    assert (told["samples"], told["pictures"], told["shards"], told["probed"]) == (SAMPLES, 4, 2, SAMPLES)
    dump_here(settings)
    assert told["bytes"] == tensor_bytes(settings.dump_folder)
    assert told["disk"]["needed"] == told["bytes"]
    assert (told["seconds"] is None, told["worker_memory"] is None) == (not timed, not timed)
    printed = capsys.readouterr().out
    assert "bytes per sample" in printed
    assert "fits: " in printed


def test_what_is_finished_needs_no_more_room(settings):
    dump_here(settings, count=3)
    run_plan(settings, samples=SAMPLES, timed=False)
    told = planned(settings)
    assert told["finished"] == 3
    assert told["disk"]["needed"] == round(told["bytes"] / 2)
    other = settings.dump.source.model_copy(update={"limit": 5})
    run_plan(settings.model_copy(update={"dump": settings.dump.model_copy(update={"source": other})}), 5, timed=False)
    assert planned(settings)["finished"] == 0  # that store is of another source


def test_a_disk_without_room_is_a_no(settings, monkeypatch, capsys):
    run_plan(settings, samples=SAMPLES, timed=False)
    needed = planned(settings)["bytes"] + 2**20
    for free, fits in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr(plan, "disk_usage", lambda folder, free=free: SimpleNamespace(free=free))
        assert run_plan(settings, samples=SAMPLES, timed=False) is fits
        assert planned(settings)["disk"]["fits"] is fits
    assert "does not fit: " in capsys.readouterr().err


def test_answers_of_the_target_have_room_for_their_longest(settings):
    own = settings.model_copy(update={"dump": settings.dump.model_copy(
        update={"answers": "target", "max_new_tokens": 11})})
    run_plan(own, samples=2, timed=False)
    longest = planned(own)["tokens"]
    run_plan(own, samples=2, timed=True)
    assert planned(own)["tokens"] <= longest


def test_a_source_of_which_nothing_can_be_dumped_is_an_error(settings):
    short = settings.model_copy(update={"dump": settings.dump.model_copy(update={"max_length": 3})})
    with pytest.raises(UserError, match="none of the 2 samples that were looked at can be dumped"):
        run_plan(short, samples=2, timed=True)


def test_samples_that_repeat_are_counted_once(settings):
    write_rows(settings.dump.source.path, [exchange(0), exchange(0), exchange(1)])
    assert work_of(open_source(settings.dump), 2) == Work(samples=2, pictures=2, pieces=1, prefixes=2)


def test_time_is_shared_by_the_workers_and_a_prefix_costs_once(settings):
    dump = settings.dump.model_copy(update={"actors": 2})
    found = Probe((Shape(10, 4, 1),), 0, sample_seconds=3.0, prefix_seconds=5.0)
    told = estimate(Work(samples=6, pictures=2, pieces=2, prefixes=2), found, dump, WIDTH)
    assert told.seconds == (6 * 3 + 2 * 5) / 2
    rest, prefix = 6 * 2 * WIDTH + 10 * 5 + 16, 4 * 2 * WIDTH
    assert told.bytes == 6 * rest + 2 * prefix
    assert told.sample_bytes_unshared == rest + prefix
    assert told.sample_bytes_flashsd == 2 * 10 * 2 * WIDTH


def test_the_processor_alone_encodes_as_the_target_does(weights, settings):
    whole, hollow = load_target("llava-1.5", str(weights), "float32", "cpu"), load_encoder("llava-1.5", str(weights))
    mine, its = whole.encode(open_source(settings.dump)[0]), hollow.encode(open_source(settings.dump)[0])
    assert torch.equal(mine.ids, its.ids)
    assert torch.equal(mine.answer_mask, its.answer_mask)
    assert mine.spans == its.spans


def test_the_weights_bytes_are_those_of_the_models_parameters(weights):
    plain = load_target("llava-1.5", str(weights), "float32", "cpu", plain=True)
    assert weights_bytes("llava-1.5", str(weights), "bfloat16") == 2 * sum(
        parameter.numel() for parameter in plain.model.parameters())
