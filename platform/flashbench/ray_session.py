"""Ray for one stage: join the cluster that is there, or start a small one. It knows no stage.

Inside a submitted job Ray has set RAY_ADDRESS, and `PYTHONPATH=platform` comes from
`jobs/runtime_env.yaml`. The same key in job and `ray.init` is an error of Ray's, so a joined
cluster gets no runtime_env from here.

Ray gives a worker OMP_NUM_THREADS = the CPUs its task or actor asked for, at least 1, unless
the variable is set already. Torch takes that value when it is first imported and never again,
so code that must have its share calls `use_threads(cpus)`.
"""

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from secrets import token_hex

import psutil
import ray

import flashbench
import specflash
from flashbench.console import note
from flashbench.settings import Settings
from specflash.errors import UserError, one_line

IN_JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # Ray sets it for the driver of a submitted job
START_TRIES = 3
RAY_PROGRAMS = str(Path(ray.__file__).parent)
OBJECT_STORE_BYTES = 400 * 2**20  # only metadata travels through Ray


@contextmanager
def ray_session(settings: Settings, num_cpus: float, num_gpus: float = 0) -> Iterator[None]:
    """Hold a Ray cluster open. What was running before stays; what was started here ends.

    settings             of the experiment; its run folder must be visible to every node
    num_cpus, num_gpus   what the stage asks for. A cluster started here has that many CPUs, and
                         the machine's GPUs where any are asked for; a joined one keeps its own

    Raises UserError where this machine, working alone, has fewer GPUs than are asked for, and where
    no cluster is at the address that is given.
    """
    if ray.is_initialized():
        _tell_if_short(num_cpus, num_gpus)
        yield
        return
    if not cluster_is_given():
        with local_ray(num_cpus, None if num_gpus else 0):
            _check_gpus(num_gpus)
            yield
        return
    _join()
    try:
        _tell_if_short(num_cpus, num_gpus)
        _tell_if_lost(settings.run)
        yield
    finally:
        ray.shutdown()  # leaves the cluster, which goes on


@contextmanager
def local_ray(num_cpus: float, num_gpus: float | None = None) -> Iterator[None]:
    """A cluster on this machine alone: free ports, no dashboard, little memory, gone afterwards.

    num_cpus  logical CPUs; of its own machine Ray takes no fraction, so it is rounded up
    num_gpus  logical GPUs; None: those that are there

    Ray guards it with a token. Given none, Ray would leave one in the home folder, and every later
    `ray start` on the machine would demand it of its clients.
    """
    os.environ.setdefault("RAY_AUTH_TOKEN", token_hex(32))
    with _environment({"PYTHONPATH": _import_roots(), "PATH": _tools_first(), "RAY_USAGE_STATS_ENABLED": "0",
                       "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}):
        _start(ceil(num_cpus), None if num_gpus is None else ceil(num_gpus))
    try:
        yield
    finally:
        ray.shutdown()


def _join() -> None:
    try:
        ray.init(address="auto", logging_level=logging.WARNING, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(f"no Ray cluster answers at RAY_ADDRESS={os.environ['RAY_ADDRESS']} ({one_line(error)}): "
                        "start it, correct the address, or unset RAY_ADDRESS to work on this machine alone") from None


def _start(num_cpus: int, num_gpus: int | None) -> None:
    """Start it. Ray gives up where its processes are not up in 30 s, as on a busy machine: try again."""
    for left in reversed(range(START_TRIES)):
        before = set(psutil.Process().children(recursive=True))
        try:
            ray.init(address="local", num_cpus=num_cpus, num_gpus=num_gpus, include_dashboard=False,
                     object_store_memory=OBJECT_STORE_BYTES, logging_level=logging.ERROR,
                     log_to_driver=False)
            return
        except Exception as error:  # Ray raises several classes here, bare Exception among them
            ray.shutdown()
            _end_remains(before)
            reason = one_line(error)
            if not left:
                raise UserError(f"Ray does not start on this machine ({reason}); where other work keeps it busy, run "
                                "the same command again later: what is finished is kept") from error
            note(f"Ray did not start ({reason}); trying again")


def _end_remains(before: set[psutil.Process]) -> None:
    """End Ray's processes that came since `before`: of a start that failed it forgets those already up."""
    for process in set(psutil.Process().children(recursive=True)) - before:
        with suppress(psutil.Error):
            command = " ".join(process.cmdline())
            if RAY_PROGRAMS in command or command.startswith("ray::"):
                process.kill()


def threads_for(cpus: float) -> int:
    """Threads of a worker that was given `cpus` CPUs, a fraction counting as one."""
    return max(1, int(cpus))


def use_threads(cpus: float) -> None:
    """Give this process its share of torch threads; more than its share is slower, not faster."""
    import torch
    torch.set_num_threads(threads_for(cpus))


def cluster_is_given() -> bool:
    """Whether stages are to join a cluster that is there. Raises UserError for an address that is no cluster's."""
    address = os.environ.get("RAY_ADDRESS", "")
    if address.startswith(("http://", "https://")):
        raise UserError(f"RAY_ADDRESS={address} is a dashboard, which only `ray job submit` understands; "
                        "unset it, or set it to HOST:6379")
    return address not in ("", "local")


def _import_roots() -> str:
    """PYTHONPATH under which workers find both packages, from a checkout as from an installation."""
    roots = [str(Path(package.__file__).resolve().parents[1]) for package in (specflash, flashbench)]
    before = os.environ.get("PYTHONPATH")
    return os.pathsep.join(dict.fromkeys([*roots, *([before] if before else [])]))


def _tools_first() -> str:
    """PATH with this Python's own programs in front: `ninja` lies there when nobody activated it."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables while Ray starts: its processes inherit them, this one gets its own back."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _check_gpus(asked: float) -> None:
    """No GPU will join a cluster of one machine: waiting for it would never end."""
    there = ray.cluster_resources().get("GPU", 0)
    if there < asked:
        raise UserError(f"this stage asks for {asked:g} GPUs and this machine has {there:g}: ask for fewer "
                        "(train.gpu, *.gpus_per_actor, *.gpus_per_replica), or join a cluster with RAY_ADDRESS")


def _tell_if_short(num_cpus: float, num_gpus: float) -> None:
    there = ray.cluster_resources()
    for kind, asked in (("CPU", num_cpus), ("GPU", num_gpus)):
        if there.get(kind, 0) < asked:
            note(f"the Ray cluster has {there.get(kind, 0):g} {kind}s and this stage asks for {asked:g}: "
                 "fewer workers run at once, and where not even one fits it waits until more join")


def _tell_if_lost(run: Path) -> None:
    """A submitted job runs in its own copy of the code, which Ray throws away some day."""
    if IN_JOB in os.environ and not run.is_absolute():
        note(f"run={run} is inside the job's own copy of the code, on the head node alone: {run.resolve()}; "
             "give an absolute path on storage that every node sees")
