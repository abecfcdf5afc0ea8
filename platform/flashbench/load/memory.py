"""What the processes behind a port hold while they are under load. It knows Ray's names of processes and no more."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from statistics import median
from urllib.parse import urlsplit

import psutil

EVERY_S = 0.5
OURS = ("ray::ServeReplica", "ray::ProxyActor", "ray::ServeController")

Samples = dict[str, list[int]]
"""process -> resident bytes, one after the other"""


@contextmanager
def sampled(url: str) -> Iterator[Samples]:
    """Filled with the samples of every process of the server while the context is open.

    Empty where they cannot be seen: on another machine, or somebody else's.
    """
    samples: Samples = defaultdict(list)
    over = threading.Event()

    def sample() -> None:
        processes = server_processes(url)
        names = {process: f"{_name(process)} {process.pid}" for process in processes}
        while not over.wait(EVERY_S):
            for process, name in names.items():
                with suppress(psutil.NoSuchProcess):
                    samples[name].append(process.memory_info().rss)

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def growth(samples: list[int]) -> float | None:
    """The last third's median over the middle third's; the first third is for warming up."""
    third = len(samples) // 3
    return median(samples[-third:]) / median(samples[third:-third]) if third else None


def server_processes(url: str) -> list[psutil.Process]:
    """The proxy that listens there, and the replicas of the same Ray node."""
    port = urlsplit(url).port
    try:
        listening = {connection.pid for connection in psutil.net_connections("tcp")
                     if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid}
        parents = [psutil.Process(pid).parent() for pid in listening]
    except psutil.Error:
        return []
    return [child for parent in parents if parent for child in parent.children() if _name(child).startswith(OURS)]


def _name(process: psutil.Process) -> str:
    """As Ray names it; empty where it has ended."""
    try:
        return "".join(process.cmdline()[:1]).strip()
    except psutil.Error:
        return ""
