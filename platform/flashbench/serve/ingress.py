"""Where Ray Serve runs the HTTP routes. Thin: the routes are in api.py, the decoding in replica.py."""

import asyncio
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
from flashbench.serve.ab.routes import everybody, local_only
from flashbench.serve.admission import Admission
from flashbench.serve.api import build_api
from flashbench.serve.api_key import KeyDoor, read_key
from flashbench.serve.events import Event, Order
from flashbench.serve.metered import Metered
from flashbench.serve.metrics import ray_recorder
from flashbench.serve.refusal import Refusal
from flashbench.settings import Settings
from flashbench.track import log_campaign

log = logging.getLogger("ray.serve")
LOOK_EVERY_S = 0.1


class Remote:
    """A Decoder in another process."""

    def __init__(self, method: str, handle: DeploymentHandle):
        self._method = method
        self._plain, self._handle = handle, handle.options(stream=True)

    async def decode(self, order: Order) -> AsyncGenerator[Event, None]:
        """Raises Refusal 503 where the replica failed."""
        bundles = self._handle.decode.remote(self._method, order)
        try:
            async for bundle in bundles:
                for event in bundle:
                    yield event
        except (RayError, RayServeException) as error:
            log.error("%s failed: %s", self._method, error)
            raise Refusal(503, f"`{self._method}` failed to answer; try again, and see the server's log",
                          code="decoder_failed") from error
        finally:
            bundles.cancel()

    async def judge(self, order: Order, ours: Sequence[int], reference: Sequence[int]) -> dict[str, Any]:
        return await self._plain.judge.remote(order, ours, reference)


@serve.deployment(max_ongoing_requests=256)
@serve.ingress()
class Ingress:
    """One endpoint over a handle per method. Its `user_config` is `serve.ab`, and may change while it runs.

    Raises UserError where the settings ask for an API key that this process has not been given.
    """

    def __init__(self, settings: Settings, handles: dict[str, DeploymentHandle]):
        serve = settings.serve
        self._settings, self._key = settings, read_key(serve.api_key_env)
        self._closing = asyncio.Event()
        record = ray_recorder(settings.target.name)
        remotes = {method: Remote(method, handle) for method, handle in handles.items()}
        self._decoders = {method: Metered(method, Admission(
            method, remote, serve.most_replicas, serve.max_queue, self._closing), record)
            for method, remote in remotes.items()}
        # What shadows decode takes no client's place in a queue and counts as no client's request.
        self._live = Live(remotes, serve.ab, Place(settings.run / "ab", self._tell_mlflow))

    def reconfigure(self, user_config: dict[str, Any]) -> None:
        """Takes effect with the next request; no replica restarts."""
        self._live.reconfigure(user_config)

    async def close(self) -> None:
        """Take nothing more, refuse what waits, and let what has begun go on."""
        self._closing.set()

    async def idle(self) -> None:
        """Returns when nothing goes on any more."""
        while any(decoder.requests for decoder in self._decoders.values()):
            await asyncio.sleep(LOOK_EVERY_S)

    def __serve_build_asgi_app__(self) -> FastAPI:
        guard = local_only if self._key is None else everybody
        api = build_api(self._decoders, self._settings.serve, self._settings.target.name, self._live, guard)
        if self._key is not None:
            api.add_middleware(KeyDoor, key=self._key)
        return api

    async def _tell_mlflow(self, campaign: dict[str, Any]) -> list[str]:
        """In a process of its own: this one does not load MLflow, and answers meanwhile."""
        return await ray.remote(num_cpus=0)(log_campaign).remote(self._settings, campaign)
