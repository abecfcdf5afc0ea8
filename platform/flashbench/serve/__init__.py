"""Decoders side by side behind one OpenAI-compatible endpoint, on Ray Serve.

    schema · pictures · chat           a request body  -> Order (a Sample, its Sampling, its stop strings)
    decode · stops                     an Order        -> events
    bundle · relay · replica           events, together where nobody reads along, from a thread of a replica
    text · reply                       events          -> OpenAI's completion, or its stream of chunks
    api · api_key · admission          the HTTP routes, and who gets in
    disconnect · ingress               clients that leave, and where Ray Serve runs the routes
    ab/                                who answers `auto`, and decoders compared on live requests
    arena · samples                    the page on which methods race, and pictures to try
    metrics · metered · scrape         what Prometheus is told, and where it asks
    layout · plan · app                the deployments, what they will hold, the application
    preflight · signals · run          `specflash serve`

The processes of a server import what they run, so this file imports nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashbench.serve.run import Served
    from flashbench.settings import Settings

__all__ = ["run_serve"]


def run_serve(settings: "Settings", blocking: bool = True, open_page: bool = False) -> "Served | None":
    """See `flashbench.serve.run.run_serve`."""
    from flashbench.serve.run import run_serve
    return run_serve(settings, blocking, open_page)
