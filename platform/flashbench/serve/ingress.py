"""Where Ray Serve runs the HTTP routes. Thin: the routes are in api.py, the decoding in replica.py."""

import asyncio
import logging
from collections.abc import AsyncGenerator

from fastapi import FastAPI
from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from flashbench.serve.admission import Admission
from flashbench.serve.api import build_api
from flashbench.serve.api_key import KeyDoor, read_key
from flashbench.serve.events import Decoder, Event, Order
from flashbench.serve.metered import Metered
from flashbench.serve.metrics import ray_recorder
from flashbench.serve.refusal import Refusal
from flashbench.settings import ServeSettings

log = logging.getLogger("ray.serve")


class Remote:
    """A Decoder in another process."""

    def __init__(self, method: str, handle: DeploymentHandle):
        self._method = method
        self._handle = handle.options(stream=True)

    async def decode(self, order: Order) -> AsyncGenerator[Event, None]:
        """Raises Refusal 503 where the replica failed."""
        events = self._handle.decode.remote(self._method, order)
        try:
            async for event in events:
                yield event
        except (RayError, RayServeException) as error:
            log.error("%s failed: %s", self._method, error)
            raise Refusal(503, f"`{self._method}` failed to answer; try again, and see the server's log",
                          code="decoder_failed") from error
        finally:
            events.cancel()


@serve.deployment(max_ongoing_requests=256)
@serve.ingress()
class Ingress:
    """One endpoint over a handle per method.

    Raises UserError where the settings ask for an API key that this process has not been given.
    """

    def __init__(self, limits: ServeSettings, target: str, handles: dict[str, DeploymentHandle]):
        self._limits, self._target = limits, target
        self._key = read_key(limits.api_key_env)
        self._closing = asyncio.Event()
        record = ray_recorder(target)

        def counted(method: str, handle: DeploymentHandle) -> Decoder:
            admitted = Admission(method, Remote(method, handle), limits.most_replicas, limits.max_queue, self._closing)
            return Metered(method, admitted, record)

        self._decoders = {method: counted(method, handle) for method, handle in handles.items()}

    async def close(self) -> None:
        """Take nothing more, refuse what waits, and let what has begun go on."""
        self._closing.set()

    def __serve_build_asgi_app__(self) -> FastAPI:
        api = build_api(self._decoders, self._limits, self._target)
        if self._key is not None:
            api.add_middleware(KeyDoor, key=self._key)
        return api
