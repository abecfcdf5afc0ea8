"""Where Ray Serve runs the HTTP routes. Thin: the routes are in api.py, the decoding in method.py."""

import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import ray
from fastapi import FastAPI
from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from flashbench.serve.ab.live import Live, Place
from flashbench.serve.api import build_api
from flashbench.serve.events import Event, Order
from flashbench.serve.refusal import Refusal
from flashbench.settings import Settings
from flashbench.track import log_campaign

log = logging.getLogger("ray.serve")


class Remote:
    """A Decoder in another process."""

    def __init__(self, method: str, handle: DeploymentHandle):
        self._method = method
        self._plain, self._handle = handle, handle.options(stream=True)

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

    async def judge(self, order: Order, ours: Sequence[int], reference: Sequence[int]) -> dict[str, Any]:
        return await self._plain.judge.remote(order, ours, reference)


@serve.deployment(max_ongoing_requests=256)
@serve.ingress()
class Ingress:
    """One endpoint over a handle per method. Its `user_config` is `serve.ab`, and may change while it runs."""

    def __init__(self, settings: Settings, handles: dict[str, DeploymentHandle]):
        self._settings = settings
        self._decoders = {method: Remote(method, handle) for method, handle in handles.items()}
        place = Place(settings.run / "ab", self._tell_mlflow)
        self._live = Live(self._decoders, settings.serve.ab, place)

    def reconfigure(self, user_config: dict[str, Any]) -> None:
        """Takes effect with the next request; no replica restarts."""
        self._live.reconfigure(user_config)

    def __serve_build_asgi_app__(self) -> FastAPI:
        return build_api(self._decoders, self._settings.serve, self._settings.target.name, self._live)

    async def _tell_mlflow(self, campaign: dict[str, Any]) -> list[str]:
        """In a process of its own: this one does not load MLflow, and answers meanwhile."""
        return await ray.remote(num_cpus=0)(log_campaign).remote(self._settings, campaign)
