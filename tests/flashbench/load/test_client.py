"""What becomes of a request, told by its client: against a server that misbehaves in each way."""

import asyncio
import json

import pytest
from aiohttp import web

from flashbench.load.client import send
from flashbench.load.drive import Server
from flashbench.load.mix import Ask
from specflash.errors import UserError

WHOLE, STREAM = Ask("greedy", "eagle", b"{}"), Ask("greedy", "eagle", b"{}", stream=True)


def delta(text: str) -> str:
    return f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n"


def outcome_of(ask: Ask, *pieces: str, status: int = 200, hang: bool = False):
    """Of one request to a server that sends these pieces and then ends, or does not."""
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece.encode())
        if hang:
            await asyncio.sleep(30)
        return response

    async def run():
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            async with Server(url, None).session() as session:
                return await send(session, ask, deadline_s=0.3)
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def test_a_whole_answer():
    outcome = outcome_of(WHOLE, json.dumps({"choices": [{"message": {"content": "A boat."}}]}))
    assert (outcome.end, outcome.status, outcome.text) == ("answered", 200, "A boat.")


def test_a_stream_with_its_end():
    outcome = outcome_of(STREAM, delta("A "), delta("boat."), "data: [DONE]\n\n")
    assert (outcome.end, outcome.text) == ("answered", "A boat.")
    assert 0 < outcome.first_s <= outcome.seconds


@pytest.mark.parametrize(("pieces", "reason"), [
    ((delta("A "),), "the stream has no end"),
    ((delta("A "), 'data: {"error": {"code": "decoder_failed", "message": "it failed"}}\n\n'), "it failed"),
    (("data: {\n\n",), "JSONDecodeError"),
])
def test_a_stream_that_breaks_is_lost(pieces, reason):
    outcome = outcome_of(STREAM, *pieces)
    assert outcome.end == "lost"
    assert reason in outcome.reason


@pytest.mark.parametrize("ask", [WHOLE, STREAM])
def test_silence_is_hung(ask):
    assert outcome_of(ask, hang=True).end == "hung"


def test_a_refusal_has_its_code():
    outcome = outcome_of(WHOLE, json.dumps({"error": {"code": "queue_full"}}), status=429)
    assert (outcome.end, outcome.status, outcome.code) == ("refused", 429, "queue_full")


@pytest.mark.parametrize("after", [0, 1])
def test_who_leaves_has_left(after):
    leaving = Ask("leaving", "eagle", b"{}", stream=True, leave_after=after)
    assert outcome_of(leaving, delta("A "), hang=True).end == "left"


def test_where_no_server_answers_one_line_says_so():
    with pytest.raises(UserError, match="no SpecFLASH server answers at http://127"):
        asyncio.run(Server("http://127.0.0.1:9", None).health())
