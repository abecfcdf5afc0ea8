"""Which deployments hold which methods, and what they ask of Ray. It loads nothing.

In the shared layout all drafts of `serve.methods` are loaded when a replica starts. Ray's multiplexing
(`@serve.multiplexed`) would load a draft at its first request and throw out the one that was longest
unused: worth it for hundreds of models, of which a few are in use. Here the methods are a handful that are
to be compared, a draft is a small part of its target's size, and a request that had to wait for a load would
be measured as slow.
"""

from flashbench.serve_settings import ServeSettings

SHARED = "shared"
INGRESS_CPUS = 0.1
WAIT_LOOP_S = 0.5
"""How often a replica that is to end looks whether its last answer is finished."""
LAST_WORDS_S = 10
"""How much longer than the replicas the ingress stays, to tell their clients what became of them."""


def deployments(serve: ServeSettings) -> dict[str, tuple[str, ...]]:
    """name -> methods whose drafts its replicas hold, beside one target"""
    return {SHARED: serve.methods} if serve.layout == "shared" else {method: (method,) for method in serve.methods}


def cpus_needed(serve: ServeSettings) -> float:
    """Logical CPUs of the whole application (Serve's own controller and proxy ask for none)."""
    return INGRESS_CPUS + len(deployments(serve)) * serve.most_replicas * serve.cpus_per_replica


def gpus_needed(serve: ServeSettings) -> float:
    return len(deployments(serve)) * serve.most_replicas * serve.gpus_per_replica


def replica_options(serve: ServeSettings) -> dict[str, object]:
    """Of a deployment of replicas, as Ray Serve names them."""
    return _number(serve) | {
        "max_ongoing_requests": 1,  # a replica decodes one answer at a time
        "graceful_shutdown_wait_loop_s": WAIT_LOOP_S, "graceful_shutdown_timeout_s": serve.drain_s,
        "ray_actor_options": {"num_cpus": serve.cpus_per_replica, "num_gpus": serve.gpus_per_replica}}


def ingress_options(serve: ServeSettings) -> dict[str, object]:
    return {"graceful_shutdown_wait_loop_s": WAIT_LOOP_S,
            "graceful_shutdown_timeout_s": serve.drain_s + LAST_WORDS_S,
            "ray_actor_options": {"num_cpus": INGRESS_CPUS}}


def _number(serve: ServeSettings) -> dict[str, object]:
    if serve.max_replicas is None:
        return {"num_replicas": serve.replicas}
    return {"autoscaling_config": {
        "min_replicas": serve.fewest_replicas, "max_replicas": serve.max_replicas,
        "target_ongoing_requests": serve.target_ongoing, "look_back_period_s": serve.look_back_s,
        "upscale_delay_s": serve.upscale_delay_s, "downscale_delay_s": serve.downscale_delay_s}}
