"""A running server, tiny random models behind it, asked with the official `openai` client: how its tests do so."""

import json
import threading
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from prometheus_client.parser import text_string_to_metric_families

from flashbench.load.memory import server_processes
from flashbench.serve import run as serve_run
from flashbench.serve.run import Served
from flashbench.serve.scrape import FILE
from tests.tiny import picture
from tests.videos import write_video

METHODS = ("vanilla", "eagle", "specflash")
SHAPES = {"eagle": {"k": 3, "head_dim": 8, "inner": 16},
          "specflash": {"k": 3, "head_dim": 8, "latents": 2}}
SHORT, MIDDLE, LONG = 24, 400, 2000
QUEUE = 20
KEY_NAME, KEY = "SPECFLASH_TEST_KEY", "s3cret"
QUICK_AUTOSCALER = {f"RAY_SERVE_{who}_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "0.5" for who in ("REPLICA", "HANDLE")}
RED = picture()


def asked(text: str = "What is it?", pictures=(RED,)) -> list:
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + b64encode(data).decode()}}
             for data in pictures]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": text}]}]


def moving() -> str:
    """A small video as a data URL."""
    with TemporaryDirectory() as folder:
        video = write_video(Path(folder) / "clip.mp4")
        return "data:video/mp4;base64," + b64encode(video.read_bytes()).decode()


def ask(client, method: str, messages=None, **fields):
    return client.chat.completions.create(model=method, messages=messages or asked(),
                                          **{"temperature": 0, "max_tokens": SHORT} | fields)


@contextmanager
def busy(client, method: str, clients: int) -> Iterator[None]:
    """So many clients ask one long question after the other. Raises where one was not answered."""
    over = threading.Event()

    def keep_asking() -> None:
        while not over.is_set():
            ask(client, method, max_tokens=200)

    with ThreadPoolExecutor(clients) as pool:
        asking = [pool.submit(keep_asking) for _ in range(clients)]
        try:
            yield
        finally:
            over.set()
        for future in asking:
            future.result()


def text_of(answer) -> str:
    return answer.choices[0].message.content


def seconds(call) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


def get(client, path: str) -> dict:
    return client.get("http://" + client.base_url.netloc.decode() + path, cast_to=dict)


def put(client, path: str, **body) -> dict:
    return client.put("http://" + client.base_url.netloc.decode() + path, body=body, cast_to=dict)


def health(client) -> dict:
    return get(client, "/healthz")["methods"]


def scrape(run: Path, wanted: set[str]) -> dict[str, list[dict[str, str]]]:
    """What Prometheus would get, once all `wanted` series are there and have outlived Ray's memory of gauges."""
    (group,) = json.loads((run / FILE).read_text())
    address = f"http://{group['targets'][0]}/metrics"
    wait_until(lambda: wanted <= set(samples(address)), 30)
    time.sleep(2.5)
    scraped = samples(address)
    assert wanted <= set(scraped)
    return scraped


def samples(address: str) -> dict[str, list[dict[str, str]]]:
    """Series name -> labels of each of its series."""
    with urllib.request.urlopen(address, timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        found: dict[str, list[dict[str, str]]] = {}
        for sample in (sample for family in families for sample in family.samples):
            found.setdefault(sample.name, []).append(sample.labels)
        return found


def wait_until(reached, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def replica_of(served: Served, deployment: str) -> int:
    """Its process."""
    name = f"ray::ServeReplica:specflash:{deployment}"  # and behind it, while it works, at what
    found, = [process.pid for process in server_processes(served.url) if process.cmdline()[0].startswith(name)]
    return found


def replicas(deployment: str) -> int:
    """How many of them run."""
    state = serve_run.serve.status().applications["specflash"].deployments[deployment]
    return state.replica_states.get("RUNNING", 0)


CONVERSATIONS = {
    "a picture": asked(),
    "two pictures": asked("Compare.", (picture((0, 0, 200)), picture((0, 200, 0)))),
    "a clip": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": moving()}},
                                            {"type": "text", "text": "What happens?"}]}],
    "text alone": asked("Tell me more.", ()),
    "several turns": [{"role": "system", "content": "Be brief."}, *asked("First?"),
                      {"role": "assistant", "content": "One."}, {"role": "user", "content": "Second?"}],
}
