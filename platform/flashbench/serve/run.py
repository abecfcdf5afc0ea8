"""`specflash serve`: start the application, say where it is, stop it cleanly. It knows no route."""

import re
import signal
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event

from ray import serve
from ray.serve.config import HTTPOptions, ProxyLocation
from ray.serve.schema import LoggingConfig

from flashbench.console import note, say, step
from flashbench.ray_session import ray_session
from flashbench.serve.app import application, cpus_needed, gpus_needed
from flashbench.serve.preflight import check_methods, free_port
from flashbench.serve.scrape import listed
from flashbench.settings import Settings
from specflash.errors import UserError

APP = "specflash"
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

    Raises UserError where a draft is missing or belongs to another target, for an unknown method
    and for a port in use.
    """
    if not blocking:
        stack = ExitStack()
        return Served(stack.enter_context(serving(settings)), stack.close)
    with serving(settings) as url:
        _announce(settings, url)
        if open_page and not webbrowser.open(f"{url}/arena"):
            note("no browser could be started here")
        _wait_for_interrupt()
        note("stopping")
    return None


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """The base URL of the running application, for as long as the context is open."""
    check_methods(settings)
    port = free_port(settings.serve)
    with ray_session(settings, cpus_needed(settings.serve), gpus_needed(settings.serve)):
        serve.start(proxy_location=ProxyLocation.HeadOnly, logging_config=QUIET,
                    http_options=HTTPOptions(host=settings.serve.host, port=port))
        try:
            _deploy(settings)
            with listed(settings.run) as endpoints:
                note(f"metrics for Prometheus: {', '.join(f'http://{one}/metrics' for one in endpoints)}")
                yield url_of(settings.serve.host, port)
        finally:
            _withdraw()


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


def _withdraw() -> None:
    """Take our application down; Serve itself too, unless others use it."""
    serve.delete(APP)
    if not serve.status().applications:
        serve.shutdown()


def _announce(settings: Settings, url: str) -> None:
    say(f"serving {settings.target.name} on {url}/v1 · models: {', '.join(settings.serve.methods)}")
    say(f"the arena, to watch them race: {url}/arena")
    say(EXAMPLE.format(url=url, model=settings.serve.methods[-1]))
    note("Ctrl-C stops it")


def _wait_for_interrupt() -> None:
    interrupted = Event()
    before = {number: signal.signal(number, lambda *_: interrupted.set())
              for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        interrupted.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
