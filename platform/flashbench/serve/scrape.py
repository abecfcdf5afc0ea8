"""Where Prometheus finds the metrics of a running server. It knows no metric.

Ray chooses a free port on every node. Where its dashboard runs it lists them in a file for Prometheus; on a
cluster that `specflash serve` started there is no dashboard, so the list is written here, in the same form.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

from flashbench.journal import write_json

FILE = "prometheus_targets.json"


@contextmanager
def listed(run: Path) -> Iterator[list[str]]:
    """The metrics endpoints, HOST:PORT; listed in `run/prometheus_targets.json` while the context is open."""
    endpoints = metrics_endpoints()
    write_json(run / FILE, [{"targets": endpoints, "labels": {"job": "ray"}}])
    try:
        yield endpoints
    finally:
        (run / FILE).unlink(missing_ok=True)


def metrics_endpoints() -> list[str]:
    return [f"{node['NodeManagerAddress']}:{node['MetricsExportPort']}" for node in ray.nodes() if node["Alive"]]
