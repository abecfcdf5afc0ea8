"""Decoders side by side behind one OpenAI-compatible endpoint, on Ray Serve.

    schema · pictures · chat           a request body  -> Order (a Sample, its Sampling, its stop strings)
    decode · stops · relay · replica   an Order        -> events, from a thread of a replica
    text · reply                       events          -> OpenAI's completion, or its stream of chunks
    api · api_key · admission          the HTTP routes, and who gets in
    disconnect · ingress               clients that leave, and where Ray Serve runs the routes
    ab/                                who answers `auto`, and decoders compared on live requests
    arena · samples                    the page on which methods race, and pictures to try
    metrics · metered · scrape         what Prometheus is told, and where it asks
    layout · plan · app                the deployments, what they will hold, the application
    preflight · signals · run          `specflash serve`
"""

from flashbench.serve.run import Served, run_serve, serving

__all__ = ["Served", "run_serve", "serving"]
