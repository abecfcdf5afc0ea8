"""Decoders side by side behind one OpenAI-compatible endpoint, on Ray Serve.

    schema · pictures · chat   a request body  -> Order (a Sample and its Sampling)
    decode · relay · method    an Order        -> events, from a thread of a replica
    text · reply               events          -> OpenAI's completion, or its stream of chunks
    api · disconnect · ingress the HTTP routes, and where Ray Serve runs them
    ab/                        who answers `auto`, and decoders compared on live requests
    app · preflight · run      the application, and `specflash serve`
"""

from flashbench.serve.run import Served, run_serve, serving

__all__ = ["Served", "run_serve", "serving"]
