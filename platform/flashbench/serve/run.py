"""`specflash serve`: start the application, say where it is, stop it cleanly. It knows no route."""

import logging
import re
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from ray import serve
from ray.exceptions import RayError
from ray.serve.config import HTTPOptions, ProxyLocation
from ray.serve.exceptions import RayServeException
from ray.serve.schema import ApplicationStatus, LoggingConfig

from flashbench.console import note, say, step
from flashbench.ray_session import cluster_is_given, ray_session
from flashbench.serve.api_key import read_key
from flashbench.serve.app import application
from flashbench.serve.layout import LAST_WORDS_S, cpus_needed, gpus_needed
from flashbench.serve.plan import check_memory, show_plan
from flashbench.serve.preflight import check_methods, free_port
from flashbench.serve.scrape import listed
from flashbench.serve.signals import ending_on_sigterm, wait_for_interrupt
from flashbench.settings import ServeSettings, Settings
from specflash.errors import UserError

APP = "specflash"
CLOSING_S = 10
"""How long the ingress may take to be told that the end has come."""
LOOK_EVERY_S = 0.2
QUIET = LoggingConfig(log_level="WARNING", enable_access_log=False)

EXAMPLE = """curl {url}/v1/chat/completions -H 'Content-Type: application/json' -d '{{
  "model": "{model}", "temperature": 0, "max_tokens": 64, "messages": [{{"role": "user", "content": [
    {{"type": "text", "text": "Describe the picture."}},
    {{"type": "image_url", "image_url": {{"url": "data:image/jpeg;base64,'$(base64 -w0 picture.jpg)'"}}}}]}}]}}'"""


@dataclass(frozen=True)
class Served:
    """A running application: where it answers, and how to end it."""

    url: str
    stop: Callable[[], None]


def run_serve(settings: Settings, blocking: bool = True, open_page: bool = False) -> Served | None:
    """Serve every method of `settings.serve.methods` behind one OpenAI-compatible endpoint.

    blocking   True: until Ctrl-C or SIGTERM, then end what was started here. False: return as soon
               as it answers; the caller ends it
    open_page  show the arena in this machine's browser, where blocking

    When it ends, running answers are finished for up to `serve.drain_s`; what waits gets 503.

    Raises UserError where a draft is missing or belongs to another target, for an unknown method, for more
    weights than there is memory, for a key that is not set and for a port in use.
    """
    if not blocking:
        stack = ExitStack()
        return Served(stack.enter_context(serving(settings)), stack.close)
    with serving(settings) as url:
        _announce(settings, url)
        if open_page and not webbrowser.open(f"{url}/arena"):
            note("no browser could be started here")
        wait_for_interrupt()
        note("stopping: running answers are finished first; Ctrl-C again cuts them")
    return None


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """The base URL of the running application, for as long as the context is open."""
    check_methods(settings)
    read_key(settings.serve.api_key_env)
    port = free_port(settings.serve)
    show_plan(settings)
    if not cluster_is_given():
        check_memory(settings)
    with ending_on_sigterm() as listen, ray_session(
            settings, cpus_needed(settings.serve), gpus_needed(settings.serve)):
        listen()
        serve.start(proxy_location=ProxyLocation.HeadOnly, logging_config=QUIET,
                    http_options=HTTPOptions(host=settings.serve.host, port=port))
        logging.getLogger("ray.serve").setLevel(logging.WARNING)  # of this process; `start` has set it to more
        try:
            _deploy(settings)
            with listed(settings.run) as endpoints:
                note(f"metrics for Prometheus: {', '.join(f'http://{one}/metrics' for one in endpoints)}")
                yield url_of(settings.serve.host, port)
        finally:
            _withdraw(settings.serve)


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _deploy(settings: Settings) -> None:
    with step(f"loading {', '.join(settings.serve.methods)}"):
        try:
            serve.run(application(settings), name=APP, logging_config=QUIET)
        except RuntimeError as error:
            # Of a replica's failure Serve gives the traceback as text; a user's mistake ends it.
            mistake = re.search(r"UserError: (.+)", str(error))
            if mistake is None:
                raise
            raise UserError(mistake[1]) from None


def _withdraw(limits: ServeSettings) -> None:
    """Take our application down, once its answers are finished; Serve itself too, unless others use it."""
    deadline = time.monotonic() + limits.drain_s + LAST_WORDS_S + CLOSING_S
    status = serve.status().applications.get(APP)
    if status is not None and status.status == ApplicationStatus.RUNNING:
        with suppress(RayError, RayServeException, TimeoutError):  # an ingress that is gone has nobody waiting
            ingress = serve.get_app_handle(APP)
            ingress.close.remote().result(timeout_s=CLOSING_S)
            # Its routes stay for as long: who comes now is told 503 by it, not 404 by Ray's proxy.
            ingress.idle.remote().result(timeout_s=limits.drain_s)
    serve.delete(APP, _blocking=False)  # blocking, it gives up after a minute
    while APP in serve.status().applications and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    if not serve.status().applications.keys() - {APP}:
        serve.shutdown()


def _announce(settings: Settings, url: str) -> None:
    say(f"serving {settings.target.name} on {url}/v1 · models: {', '.join(settings.serve.methods)}")
    say(f"the arena, to watch them race: {url}/arena")
    say(EXAMPLE.format(url=url, model=settings.serve.methods[-1]))
    note("Ctrl-C stops it")
