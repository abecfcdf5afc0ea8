"""A shadow neither delays nor changes an answer, is bounded, gives way, and yields a pair that is fair."""

import asyncio
from contextlib import aclosing

import pytest

from flashbench.ab_settings import AbSettings
from flashbench.serve.ab.live import Live, Place
from tests.flashbench.serve.ab.decoders import Gated, order

SHADOW = {"method": "specflash", "share": 1.0}


class Stage:
    """A Live over two decoders, and clients that answer through it."""

    def __init__(self, folder, **shadow):
        self.vanilla, self.specflash = Gated(), Gated(seconds=0.5)
        self.decoders = {"vanilla": self.vanilla, "specflash": self.specflash}
        self.live = Live(self.decoders, AbSettings(shadow=SHADOW | shadow), Place(folder, flush=None))

    async def answer(self, method="vanilla", asked=None):
        """The ids a client gets."""
        asked = asked or order()
        async with aclosing(self.live.observed(asked, method, self.decoders[method].decode(asked))) as events:
            return [token for event in [event async for event in events] for token in getattr(event, "ids", ())]

    async def outcomes(self):
        """Once nothing moves any more."""
        for _ in range(200):
            await asyncio.sleep(0)
        return {name: count for name, count in self.live.shadows.items() if count}

    async def pairs(self):
        await self.outcomes()
        return [pair for kept in self.live.pairs.kept.values() for pair in kept]


def staged(check):
    """Run the coroutine function `check(folder)` in a loop of its own."""
    def test(tmp_path):
        asyncio.run(asyncio.wait_for(check(tmp_path), 10))
    test.__name__, test.__doc__ = check.__name__, check.__doc__
    return test


def open_gates(*decoders):
    for decoder in decoders:
        decoder.gate.set()


@staged
async def test_a_pair_is_made_of_the_same_order(folder):
    stage, asked = Stage(folder), order(temperature=1.0, seed=7)
    open_gates(stage.vanilla, stage.specflash)
    assert await stage.answer(asked=asked) == [5, 6, 7, 8]
    (pair,) = await stage.pairs()
    assert stage.specflash.orders == [asked]
    assert (pair.method, pair.baseline, pair.first, pair.prompt) == (
        "specflash", "vanilla", "vanilla", asked.sample.id)
    assert (pair.ours.seconds["verify"], pair.theirs.seconds["verify"]) == (0.5, 1.0)
    assert (pair.timed, pair.identical) == (True, None)
    assert await stage.outcomes() == {"paired": 1}


@staged
async def test_the_shadow_starts_only_after_the_answer(folder):
    stage = Stage(folder)
    client = asyncio.create_task(stage.answer())
    await stage.outcomes()
    assert (stage.vanilla.running, stage.specflash.begun) == (1, 0)
    open_gates(stage.vanilla)
    assert await client == [5, 6, 7, 8]
    await stage.outcomes()
    assert stage.specflash.running == 1


@staged
async def test_a_shadow_that_never_ends_delays_nobody(folder):
    """Its gate stays shut: all clients are served, and each of them ends the shadow before."""
    stage = Stage(folder)
    open_gates(stage.vanilla)
    for _ in range(5):
        assert await stage.answer() == [5, 6, 7, 8]
        await stage.outcomes()
    assert (stage.specflash.begun, stage.specflash.stopped, stage.specflash.running) == (5, 4, 1)
    assert await stage.outcomes() == {"gave_way": 4}


@staged
async def test_a_request_for_the_shadows_own_method_ends_it_too(folder):
    stage = Stage(folder)
    open_gates(stage.vanilla)
    await stage.answer()
    await stage.outcomes()
    stage.live.route("specflash", None)
    assert await stage.outcomes() == {"gave_way": 1}
    assert stage.specflash.running == 0


@staged
async def test_a_shadow_waits_while_another_client_is_served_and_nothing_is_timed_that_had_company(folder):
    stage = Stage(folder)
    one, other = asyncio.create_task(stage.answer()), asyncio.create_task(stage.answer(asked=order("Again")))
    await stage.outcomes()
    open_gates(stage.vanilla, stage.specflash)
    await asyncio.gather(one, other)
    assert [pair.timed for pair in await stage.pairs()] == [False, False]


@staged
async def test_pairs_of_clients_that_were_alone_are_timed(folder):
    stage = Stage(folder)
    open_gates(stage.vanilla, stage.specflash)
    for question in ("One", "Two"):
        await stage.answer(asked=order(question))
        await stage.outcomes()
    assert [pair.timed for pair in await stage.pairs()] == [True, True]


@staged
async def test_more_than_most_are_dropped_and_counted(folder):
    stage = Stage(folder, most=2)
    clients = [asyncio.create_task(stage.answer(asked=order(str(number)))) for number in range(5)]
    await stage.outcomes()
    open_gates(stage.vanilla, stage.specflash)
    await asyncio.gather(*clients)
    assert await stage.outcomes() == {"paired": 2, "busy": 3}


@staged
async def test_a_late_shadow_is_stopped_and_counted(folder):
    stage = Stage(folder, deadline_s=0.02)
    open_gates(stage.vanilla)
    await stage.answer()
    await asyncio.sleep(0.1)
    assert await stage.outcomes() == {"late": 1}
    assert stage.specflash.running == 0


@staged
async def test_a_client_that_leaves_has_no_shadow(folder):
    stage = Stage(folder)
    client = asyncio.create_task(stage.answer())
    await stage.outcomes()
    client.cancel()
    assert await stage.outcomes() == {"unanswered": 1}
    assert stage.specflash.begun == 0


@staged
async def test_a_shadow_that_fails_costs_its_pair_and_nothing_else(folder):
    stage = Stage(folder)
    stage.specflash.refused = True
    open_gates(stage.vanilla)
    assert await stage.answer() == [5, 6, 7, 8]
    assert await stage.outcomes() == {"failed": 1}
    assert await stage.pairs() == []


@staged
async def test_a_refused_request_has_no_shadow(folder):
    stage = Stage(folder)
    stage.vanilla.refused = True
    assert await stage.answer() == []
    assert await stage.outcomes() == {}


@staged
async def test_beside_starts_as_soon_as_the_order_is_taken_and_is_timed(folder):
    stage = Stage(folder, start="beside")
    client = asyncio.create_task(stage.answer())
    await stage.outcomes()
    assert (stage.vanilla.running, stage.specflash.running) == (1, 1)
    open_gates(stage.vanilla, stage.specflash)
    await client
    assert [pair.timed for pair in await stage.pairs()] == [True]


@staged
async def test_beside_gives_way_on_its_own_method_only(folder):
    stage = Stage(folder, start="beside")
    client = asyncio.create_task(stage.answer())
    await stage.outcomes()
    stage.live.route("vanilla", None)
    assert await stage.outcomes() == {}
    stage.live.route("specflash", None)
    assert await stage.outcomes() == {"gave_way": 1}
    open_gates(stage.vanilla)
    assert await client == [5, 6, 7, 8]


@staged
async def test_a_client_that_leaves_ends_the_shadow_beside_it(folder):
    stage = Stage(folder, start="beside")
    client = asyncio.create_task(stage.answer())
    await stage.outcomes()
    client.cancel()
    assert await stage.outcomes() == {"unanswered": 1}
    assert (stage.specflash.begun, stage.specflash.running) == (1, 0)


@staged
async def test_what_the_shadows_method_answers_another_one_decodes_too(folder):
    stage = Stage(folder)
    open_gates(stage.vanilla, stage.specflash)
    await stage.answer("specflash")
    (pair,) = await stage.pairs()
    assert (pair.first, pair.baseline, pair.method) == ("specflash", "vanilla", "specflash")


@staged
async def test_no_share_no_shadow(folder):
    stage = Stage(folder, share=0.0)
    open_gates(stage.vanilla)
    await stage.answer()
    assert await stage.outcomes() == {}


@staged
async def test_another_greedy_text_is_judged_by_the_baseline_and_told_with_its_prompt(folder):
    stage = Stage(folder)
    stage.specflash.ids = (5, 9, 7, 8)
    open_gates(stage.vanilla, stage.specflash)
    await stage.answer()
    (pair,) = await stage.pairs()
    assert (pair.identical, pair.kind, pair.position, pair.gap) == (False, "real", 1, 0.5)
    assert stage.vanilla.judged == [(order(), [5, 9, 7, 8], [5, 6, 7, 8])]
    assert (await stage.live.stats())["differences"] == [
        {"prompt": order().sample.id, "method": "specflash", "baseline": "vanilla", "kind": "real", "position": 1,
         "gap": 0.5}]


@staged
async def test_a_drawn_text_may_differ(folder):
    stage = Stage(folder)
    stage.specflash.ids = (5, 9, 7, 8)
    open_gates(stage.vanilla, stage.specflash)
    await stage.answer(asked=order(temperature=0.5))
    (pair,) = await stage.pairs()
    assert (pair.identical, pair.kind, stage.vanilla.judged) == (None, None, [])


@staged
async def test_a_difference_that_cannot_be_judged_still_counts(folder):
    stage = Stage(folder)
    stage.specflash.ids, stage.vanilla.judge = (5, 9, 7, 8), None
    open_gates(stage.vanilla, stage.specflash)
    await stage.answer()
    assert [pair.kind for pair in await stage.pairs()] == ["unjudged"]


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_the_share_of_the_answers_is_shadowed(tmp_path, share):
    stage = Stage(tmp_path, share=share)
    chosen = sum(stage.live.second("vanilla") is not None for _ in range(2000)) / 2000
    assert chosen == pytest.approx(share, abs=0.05)
