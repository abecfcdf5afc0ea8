"""Where Ray Serve runs the HTTP routes. Thin: the routes are in api.py, the decoding in method.py."""

import logging
from collections.abc import AsyncGenerator

from fastapi import FastAPI
from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from flashbench.serve.api import build_api
from flashbench.serve.events import Event, Order
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
        events = self._handle.decode.remote(order)
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
    """One endpoint over a handle per method."""

    def __init__(self, limits: ServeSettings, target: str, handles: dict[str, DeploymentHandle]):
        self._limits, self._target = limits, target
        record = ray_recorder(target)
        self._decoders = {method: Metered(method, Remote(method, handle), record) for method, handle in handles.items()}

    def __serve_build_asgi_app__(self) -> FastAPI:
        return build_api(self._decoders, self._limits, self._target)
