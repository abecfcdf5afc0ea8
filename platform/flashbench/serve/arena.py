"""The arena's routes: its page, its files, what it has to know, sample pictures. It decodes nothing.

The page asks the same endpoint as any other client, and needs nothing from outside: the policy sent
with it forbids inline code, inline styles and every other host. Its addresses are relative, so it
works under a route prefix too.
"""

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from dashboards.arena import assets
from dashboards.colours import colours
from flashbench.serve.samples import picture_of, sample_pictures
from flashbench.settings import ServeSettings

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; "
          "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
           "Cache-Control": "no-cache"}


def arena_routes(methods: Sequence[str], limits: ServeSettings, target: str) -> APIRouter:
    """`/` leads to `/arena`; everything else lies below it."""
    router, files = APIRouter(include_in_schema=False), assets()
    setup = {"target": target,
             "methods": [{"name": name, "colour": colour} for name, colour in colours(methods).items()],
             "max_new_tokens": limits.max_new_tokens, "max_body_mb": limits.max_body_mb}

    @router.get("/")
    async def home() -> Response:
        return RedirectResponse("arena")

    @router.get("/arena")
    async def page() -> Response:
        return _file(*files["arena.html"])

    @router.get("/arena/setup")
    async def tell_setup() -> dict[str, object]:
        return setup | {"samples": [sample.told() for sample in sample_pictures()]}

    @router.get("/arena/samples/{name}")
    async def picture(name: str) -> Response:
        if name not in {sample.file for sample in sample_pictures()}:
            raise HTTPException(404)
        return _file(await asyncio.to_thread(picture_of, name), "image/jpeg")

    @router.get("/arena/{name}")
    async def file(name: str) -> Response:
        if name not in files:
            raise HTTPException(404)
        return _file(*files[name])

    return router


def _file(content: bytes, media: str) -> Response:
    return Response(content, media_type=media, headers=HEADERS)
