"""GET /ab/stats, and the administration: weights and the campaign. It knows HTTP and no decoder.

To change something is for the machine's own user: requests from elsewhere are refused, unless the server asks for a
key, which then decides. (Behind a reverse proxy on this machine everybody is local: have it refuse /ab, or set a
key.) All changes are PUT and DELETE, which a page of another site cannot make a browser send.
"""

from collections.abc import Callable
from ipaddress import ip_address
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, ValidationError

from flashbench.serve.ab.live import Live
from flashbench.serve.ab.route import check_served
from flashbench.serve.ab.rule import Rule
from flashbench.serve.refusal import Refusal
from flashbench.serve.schema import Part, explained, read_object
from specflash.errors import UserError

MOST_BYTES = 65_536
Json = dict[str, Any]
Guard = Callable[[Request], None]
Asked = TypeVar("Asked", bound=BaseModel)


class Weights(Part):
    """Body of PUT /ab/weights: methods that are left out get no more requests for `auto`."""

    weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(min_length=1)


class Start(Part):
    """Body of PUT /ab/campaign."""

    name: str
    methods: list[str] = Field(min_length=2, max_length=2)
    width: float = Field(Rule.width, gt=0, lt=2)
    max_pairs: int = Field(Rule.max_pairs, ge=1, le=100_000)
    max_seconds: float = Field(Rule.max_seconds, gt=0, le=30 * 86_400)


def local_only(request: Request) -> None:
    """Raises Refusal 403 for a client on another machine."""
    try:
        local = request.client is not None and ip_address(request.client.host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise Refusal(403, f"{request.url.path} is for clients on this machine; set an API key to administer the "
                           "server from elsewhere", code="local_only")


def everybody(request: Request) -> None:
    """The guard of a server that has asked each client for its key already."""


class AbRoutes:
    """guard  raises Refusal where the client may not administer"""

    def __init__(self, live: Live, guard: Guard = local_only):
        self._live, self._guard = live, guard

    def routes(self) -> APIRouter:
        router = APIRouter(prefix="/ab")
        router.get("/stats")(self._live.stats)
        router.get("/weights")(self.weights)
        router.put("/weights")(self.set_weights)
        router.get("/campaign")(self._live.campaigns.told)
        router.put("/campaign")(self.start)
        router.delete("/campaign")(self.stop)
        return router

    async def weights(self) -> Json:
        return self._live.weights

    async def set_weights(self, request: Request) -> Json:
        asked = await self._asked(request, Weights)
        if not any(asked.weights.values()):
            raise Refusal(400, "one of `weights` must be above 0", "weights", "invalid_value")
        try:
            self._live.reweigh(asked.weights)
        except UserError as error:
            raise Refusal(400, str(error), "weights", "invalid_value") from None
        return self._live.weights

    async def start(self, request: Request) -> Json:
        asked = await self._asked(request, Start)
        if asked.methods[0] == asked.methods[1]:
            raise Refusal(400, "`methods` names one method twice", "methods", "invalid_value")
        try:
            for method in asked.methods:
                check_served(method, self._live.methods, "methods")
        except UserError as error:
            raise Refusal(400, str(error), "methods", "invalid_value") from None
        rule = Rule(asked.width, asked.max_pairs, asked.max_seconds)
        return await self._live.campaigns.start(asked.name, asked.methods, rule)

    async def stop(self, request: Request) -> Json:
        self._guard(request)
        return await self._live.campaigns.stop()

    async def _asked(self, request: Request, model: type[Asked]) -> Asked:
        self._guard(request)
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BYTES:
                raise Refusal(413, f"the body is larger than {MOST_BYTES} bytes", code="body_too_large")
        tree = read_object(bytes(body))
        try:
            return model.model_validate(tree)
        except ValidationError as error:
            raise explained(error, tree, model) from None
