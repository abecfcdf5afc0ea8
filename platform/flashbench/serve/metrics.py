"""What a server tells Prometheus, under the names that a dashboard for vLLM knows. It knows no request.

Ray exports them on every node's metrics endpoint and adds to the names: `ray_` in front, `_total` behind
counters, and `_bucket`, `_sum`, `_count` behind histograms. `series` gives the names as they come out.
Values appear there some seconds later, as often as Ray reports (RAY_metrics_report_interval_ms).

Every metric has the tags `method` and `target`, and those of its own; Ray Serve adds `deployment`,
`replica` and `application`. Nothing of a request is ever a tag: there would be a series per request.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from time import sleep
from typing import Literal, Protocol

from ray.serve import metrics

OUTCOMES = ("finished", "refused", "busy", "failed", "disconnected")


@dataclass(frozen=True)
class Metric:
    """tags: besides `method` and `target`; buckets: upper edges in seconds, of a histogram."""

    kind: Literal["counter", "gauge", "histogram"]
    description: str
    tags: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


METRICS = {
    "num_requests_waiting": Metric("gauge", "Requests that no replica has taken yet."),
    "num_requests_running": Metric("gauge", "Requests that a replica is answering."),
    "requests": Metric("counter", f"Requests that ended, by outcome: {', '.join(OUTCOMES)}.", ("outcome",)),
    "prompt_tokens": Metric("counter", "Tokens of the prompts, visual ones included."),
    "generation_tokens": Metric("counter", "Tokens of the answers."),
    "decode_tokens": Metric("counter", "Tokens of finished answers behind the first, which comes from the prefill."),
    "phase_seconds": Metric("counter", "Seconds that finished answers took, by phase.", ("phase",)),
    "rounds": Metric("counter", "Verification passes of the target; the prefill is none."),
    "spec_decode_num_drafts": Metric("counter", "Rounds in which something was drafted."),
    "spec_decode_num_draft_tokens": Metric("counter", "Tokens drafted; of a tree, its depth."),
    "spec_decode_num_accepted_tokens": Metric("counter", "Drafted tokens that the target accepted."),
    "spec_decode_num_accepted_tokens_per_pos": Metric(
        "counter", "Drafted tokens accepted, by their place in the draft, from 0.", ("position",)),
    "time_to_first_token_seconds": Metric(
        "histogram", "From the request to the first token, waiting included.",
        buckets=(.05, .1, .25, .5, .75, 1, 2, 4, 8, 15, 30, 60)),
    "e2e_request_latency_seconds": Metric(
        "histogram", "From the request to the end of a finished answer.",
        buckets=(.1, .25, .5, 1, 2, 4, 8, 15, 30, 60, 120, 300)),
    "time_per_output_token_seconds": Metric(
        "histogram", "Of a finished answer: seconds behind the first token, for each token behind it.",
        buckets=(.0025, .005, .01, .02, .03, .04, .05, .075, .1, .15, .2, .5, 1)),
}
"""Name without prefix -> what it is. One line more is one metric more."""

PREFIX = "specflash_"
RAYS_PREFIX = "ray_"
COMMON_TAGS = ("method", "target")
REFRESH_SECONDS = 1.0


class Recorder(Protocol):
    """Adds to a counter, sets a gauge, observes with a histogram: whatever METRICS says `name` is."""

    def __call__(self, name: str, value: float, **tags: str) -> None: ...


def ray_recorder(target: str) -> Recorder:
    """Recorder of a Serve replica. Only inside one: Ray takes the replica's name from where it is called.

    Ray forgets a gauge that nobody sets for a while, and an idle server would look like none: a thread
    sets them again.
    """
    meters = {name: _meter(PREFIX + name, metric) for name, metric in METRICS.items()}
    gauges: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}

    def record(name: str, value: float, **tags: str) -> None:
        tags = {"target": target, **tags}
        if METRICS[name].kind == "gauge":
            gauges[name, frozenset(tags.items())] = value
        meters[name](value, tags=tags)

    def refresh() -> None:
        while True:
            sleep(REFRESH_SECONDS)
            for (name, tags), value in list(gauges.items()):
                meters[name](value, tags=dict(tags))

    Thread(target=refresh, daemon=True, name="gauges").start()
    return record


def series(some: dict[str, Metric] = METRICS) -> set[str]:
    """Names of the time series, as Ray exports them."""
    endings = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
    return {f"{RAYS_PREFIX}{PREFIX}{name}{ending}" for name, metric in some.items() for ending in endings[metric.kind]}


def _meter(name: str, metric: Metric) -> Callable[..., None]:
    tags = (*COMMON_TAGS, *metric.tags)
    if metric.kind == "histogram":
        return metrics.Histogram(name, metric.description, list(metric.buckets), tags).observe
    if metric.kind == "gauge":
        return metrics.Gauge(name, metric.description, tags).set
    return metrics.Counter(name, metric.description, tags).inc
