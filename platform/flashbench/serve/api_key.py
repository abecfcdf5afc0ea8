"""The optional API key: where it comes from, and the door in front of the routes. It knows no route's work.

Settings hold the name of an environment variable, never the key, and Ray never carries it: the process
that serves reads its own environment.
"""

import os
from hmac import compare_digest

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from flashbench.serve.refusal import Refusal
from specflash.errors import UserError

HEALTH = ("/healthz", "/health")
"""The second is vLLM's, which its load generators ask first."""

OPEN = (*HEALTH, "/version", "/", "/arena")
"""Who watches a server needs no key for it; nor does who reads the arena's page, for the requests it sends do."""

WRONG = Refusal(401, "this server wants an API key: send the header `Authorization: Bearer KEY` with the right one",
                code="invalid_api_key")


def read_key(variable: str | None) -> str | None:
    """The key; None where none is asked for. Raises UserError where the variable is not set."""
    if variable is None:
        return None
    key = os.environ.get(variable, "")
    if not key:
        raise UserError(f"serve.api_key_env names the environment variable {variable}, which is not set: "
                        f"`export {variable}=…` first (on a cluster, where the ingress runs), or set it to null")
    return key


class KeyDoor:
    """ASGI middleware: requests without the key get 401, in OpenAI's shape, before their body is read."""

    def __init__(self, app: ASGIApp, key: str):
        self._app, self._key = app, f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_open(scope["path"]) or self._opens(Headers(scope=scope)):
            await self._app(scope, receive, send)
        else:
            await JSONResponse(WRONG.body(), WRONG.status, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _opens(self, headers: Headers) -> bool:
        """In the same time whichever letter is wrong."""
        return compare_digest(headers.get("authorization", "").encode("latin-1"), self._key)


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith("/arena/")
