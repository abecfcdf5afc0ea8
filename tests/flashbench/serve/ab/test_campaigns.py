"""A campaign ends where its rule says, survives the server, and tells disk and MLflow what it found."""

import asyncio
import json

import pytest

from flashbench.serve.ab.campaigns import Campaigns
from flashbench.serve.ab.company import Company
from flashbench.serve.ab.ledger import CAMPAIGN, PAIRS
from flashbench.serve.ab.rule import Rule
from flashbench.serve.refusal import Refusal
from specflash.errors import UserError
from tests.flashbench.serve.ab.decoders import pair

METHODS = ("vanilla", "eagle", "specflash")


class Tracker:
    """What MLflow is told; fails where it is to."""

    def __init__(self, failing: bool = False):
        self.told, self.failing = [], failing

    async def __call__(self, told):
        if self.failing:
            raise ConnectionError("away")
        self.told.append(told)
        return []


def campaigns(folder, tracker=None):
    return Campaigns(folder, METHODS, Company(), tracker or Tracker())


def uneven(number: int, **other):
    return pair(number, seconds=0.4 + 0.01 * (number % 7), **other)


async def begun(folder, tracker=None, **rule):
    some = campaigns(folder, tracker)
    await some.start("first", ("specflash", "vanilla"), Rule(**{"width": 0.2} | rule))
    return some


async def feed(some, numbers, **other):
    for number in numbers:
        await some.add(uneven(number, **other), flush_s=0)


def on_disk(folder):
    return json.loads((folder / "first" / CAMPAIGN).read_text())


def test_it_ends_at_the_first_look_that_is_narrow_enough_and_not_before_20_prompts(tmp_path):
    async def run():
        some = await begun(tmp_path)
        await feed(some, range(60))
        return some.current.told()
    told = asyncio.run(run())
    assert (told["ended"], told["reached"], told["pairs"]) == ("enough", True, 22)  # 6 8 10 12 15 18 22 …
    assert told["width"] <= 0.2


def test_disk_and_mlflow_have_what_it_found(tmp_path):
    tracker = Tracker()

    async def run():
        some = await begun(tmp_path, tracker)
        await feed(some, range(60))
        await some.stop()
        return some.current.told()
    told = asyncio.run(run())
    assert on_disk(tmp_path) == tracker.told[-1] == json.loads(json.dumps(told))
    assert [each["pairs"] for each in tracker.told][-1] == told["pairs"]
    assert len((tmp_path / "first" / PAIRS).read_text().splitlines()) == told["pairs"]


@pytest.mark.parametrize(("rule", "ended"), [({"max_pairs": 7}, "most pairs"), ({"max_seconds": 0.01}, "out of time")])
def test_it_ends_without_the_wanted_width_where_it_has_had_enough(tmp_path, rule, ended):
    async def run():
        some = await begun(tmp_path, **rule)
        if "max_seconds" in rule:
            await asyncio.sleep(0.1)
        await feed(some, range(10))
        return some.current.told()
    told = asyncio.run(run())
    assert (told["ended"], told["reached"]) == (ended, False)
    assert on_disk(tmp_path)["ended"] == ended


def test_only_timed_pairs_of_its_two_methods_count(tmp_path):
    async def run():
        some = await begun(tmp_path)
        await feed(some, range(3), timed=False)
        await feed(some, range(3))
        return len(some.current.pairs), some.current.other("vanilla"), some.current.other("eagle")
    assert asyncio.run(run()) == (3, "specflash", None)


def test_a_server_that_was_killed_goes_on_where_it_was(tmp_path):
    async def before():
        await feed(await begun(tmp_path), range(11))
    asyncio.run(before())
    with (tmp_path / "first" / PAIRS).open("a") as file:
        file.write('{"key": "torn')

    async def after():
        some = campaigns(tmp_path)
        assert len(some.current.pairs) == 11
        assert [look["pairs"] for look in some.current.looks] == [6, 8, 10]
        await feed(some, range(11, 60))
        return some.current.told()
    told = asyncio.run(after())
    assert told["ended"] == "enough"
    assert len((tmp_path / "first" / PAIRS).read_text().splitlines()) == told["pairs"]


def test_one_that_was_over_is_left_alone(tmp_path):
    async def run():
        await (await begun(tmp_path)).stop()
    asyncio.run(run())
    assert campaigns(tmp_path).current is None


def test_a_record_that_is_none_is_named(tmp_path):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / CAMPAIGN).write_text("[]")
    with pytest.raises(UserError, match=f"odd/{CAMPAIGN} is no record of a campaign"):
        campaigns(tmp_path)


def test_a_store_that_fails_stops_nothing_and_is_told(tmp_path):
    async def run():
        some = await begun(tmp_path, Tracker(failing=True))
        await feed(some, range(7))
        return await some.stop()
    told = asyncio.run(run())
    assert told["untold"] == [f"MLflow: away; {tmp_path / 'first'} has it all"]
    assert on_disk(tmp_path)["ended"] == "stopped by hand"


def test_mlflow_is_written_to_no_more_often_than_was_asked(tmp_path):
    tracker = Tracker()

    async def run():
        some = await begun(tmp_path, tracker)
        for number in range(16):
            await some.add(uneven(number), flush_s=1000)
        await some.stop()
    asyncio.run(run())
    assert [told["pairs"] for told in tracker.told] == [6, 16]


def test_without_a_campaign_there_is_nothing_to_stop(tmp_path):
    async def run():
        await campaigns(tmp_path).stop()
    with pytest.raises(Refusal) as caught:
        asyncio.run(run())
    assert caught.value.status == 404
