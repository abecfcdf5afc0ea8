"""The HTTP routes: OpenAI's, and health and version. It knows no Ray, no model and no picture format."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

import specflash
from flashbench.serve.ab.live import Live
from flashbench.serve.ab.route import AUTO
from flashbench.serve.ab.routes import AbRoutes, Guard, local_only
from flashbench.serve.api_key import HEALTH
from flashbench.serve.arena import arena_routes
from flashbench.serve.chat import read_order
from flashbench.serve.disconnect import Broken, unless_disconnected
from flashbench.serve.events import Decoder, Event, Order, Refused, Started
from flashbench.serve.refusal import Refusal
from flashbench.serve.reply import Reply
from flashbench.serve.schema import parse_request
from flashbench.settings import ServeSettings
from specflash.catalogue import nearest

log = logging.getLogger("ray.serve")
CLIENT_CLOSED_REQUEST = 499  # nginx's name for it


@dataclass
class Tally:
    """What became of one method's requests since this ingress started."""

    running: int = 0
    finished: int = 0
    refused: int = 0
    failed: int = 0
    disconnected: int = 0


def build_api(decoders: Mapping[str, Decoder], limits: ServeSettings, target: str, live: Live,
              guard: Guard = local_only) -> FastAPI:
    """The application over one decoder per method, which `live` compares; `target` is told at /version.

    guard  says who may change weights and campaigns
    """
    gateway = Gateway(decoders, limits, target, live)
    api = FastAPI(title="SpecFLASH", version=specflash.__version__)
    api.include_router(gateway.routes())
    api.include_router(arena_routes(list(decoders), limits, target))
    api.include_router(AbRoutes(live, guard).routes())
    api.add_exception_handler(Refusal, _refused)
    api.add_exception_handler(ClientDisconnect, _left)
    api.add_exception_handler(HTTPException, _no_such_route)
    api.add_exception_handler(Exception, _failed)
    api.add_middleware(Broken)
    return api


class Gateway:
    """Checks a request, hands it to the decoder that its `model` names or is dealt, and shapes the answer."""

    def __init__(self, decoders: Mapping[str, Decoder], limits: ServeSettings, target: str, live: Live):
        self._decoders = decoders
        self._live = live
        self._limits = limits
        self._target = target
        self._started = int(time.time())
        self._tallies = {method: Tally() for method in decoders}

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.get("/v1/models")(self.models)
        router.get("/v1/models/{model}")(self.model)
        router.post("/v1/chat/completions")(self.chat)
        for path in HEALTH:
            router.get(path)(self.health)
        router.get("/version")(self.version)
        return router

    async def models(self) -> dict[str, object]:
        return {"object": "list", "data": [self._model(name) for name in (*self._decoders, AUTO)]}

    async def model(self, model: str) -> dict[str, object]:
        self._check_known(model)
        return self._model(model)

    async def health(self) -> dict[str, object]:
        return {"status": "ok", "methods": {name: asdict(tally) for name, tally in self._tallies.items()}}

    async def version(self) -> dict[str, object]:
        return {"version": specflash.__version__, "target": self._target, "methods": list(self._decoders)}

    async def chat(self, request: Request) -> Response:
        body = await read_body(request, self._limits.max_body_mb * 2**20)
        asked = await asyncio.to_thread(parse_request, body)
        self._check_known(asked.model)
        method = self._live.route(asked.model, asked.user)
        order = await asyncio.to_thread(read_order, asked, self._limits)
        events = self._live.observed(order, method, self._counted(method, order))
        started = await unless_disconnected(request.receive, _first(events))
        reply = Reply(method, order)
        if asked.stream:
            return _stream(reply.chunks(started, events, asked.told), events)
        async with aclosing(events):
            return JSONResponse(await unless_disconnected(request.receive, reply.whole(started, events)))

    async def _counted(self, method: str, order: Order) -> AsyncGenerator[Event, None]:
        tally = self._tallies[method]
        tally.running += 1
        outcome = "disconnected"
        try:
            async with aclosing(self._decoders[method].decode(order)) as events:
                async for event in events:
                    outcome = "refused" if isinstance(event, Refused) else outcome
                    yield event
            outcome = "finished" if outcome == "disconnected" else outcome
        except Exception as error:
            outcome = "refused" if isinstance(error, Refusal) and error.status < 500 else "failed"
            raise
        finally:
            tally.running -= 1
            setattr(tally, outcome, getattr(tally, outcome) + 1)

    def _model(self, method: str) -> dict[str, object]:
        return {"id": method, "object": "model", "created": self._started, "owned_by": "specflash"}

    def _check_known(self, model: str) -> None:
        known = (*self._decoders, AUTO)
        if model not in known:
            raise Refusal(404, f"unknown model `{model}`{nearest(model, known)}; known: {', '.join(known)}",
                          "model", "model_not_found")


async def read_body(request: Request, limit: int) -> bytes:
    """Raises Refusal 413 as soon as the body is known to be too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise Refusal(413, f"the body is larger than {limit // 2**20} MiB", code="body_too_large")
    return bytes(body)


async def _first(events: AsyncGenerator[Event, None]) -> Started:
    """Waits until the replica has taken the order, so that a refusal still has its own status."""
    first = await anext(events)
    if isinstance(first, Refused):
        await events.aclose()
        raise Refusal(400, first.message, "messages", first.code)
    return first


def _stream(chunks: AsyncGenerator[str, None], events: AsyncGenerator[Event, None]) -> StreamingResponse:
    async def closing_both() -> AsyncGenerator[str, None]:
        async with aclosing(events), aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    return StreamingResponse(closing_both(), media_type="text/event-stream",
                             headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})


async def _refused(request: Request, refusal: Refusal) -> JSONResponse:
    return JSONResponse(refusal.body(), refusal.status, refusal.headers)


async def _left(request: Request, error: ClientDisconnect) -> Response:
    return Response(status_code=CLIENT_CLOSED_REQUEST)  # nobody reads it


async def _no_such_route(request: Request, error: HTTPException) -> JSONResponse:
    message = f"{request.method} {request.url.path}: {error.detail.lower()}"
    return JSONResponse(Refusal(error.status_code, message).body(), error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    log.error("request failed", exc_info=error)
    return JSONResponse(Refusal(500, "the server failed; its log says why").body(), 500)
