"""Mixed requests, many at once, against a running server, and the laws that must hold under them.

    mix      which requests: greedy and sampled, whole and streamed, clients that leave, bad ones
    client   one request -> its Outcome
    drive    all of them, so many at once
    memory   what the server's processes hold meanwhile
    laws     outcomes -> which laws are broken
    times    how long they took
    overhead the same request by HTTP and in process
    run      `specflash load`
"""

from flashbench.load.run import run_load

__all__ = ["run_load"]
