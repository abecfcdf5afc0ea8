"""Being told to end, at any moment of a server's life. It knows no server."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event

TERMINATED = 128 + signal.SIGTERM
"""Exit code of who was ended by it, as shells give it."""


@contextmanager
def ending_on_sigterm() -> Iterator[Callable[[], None]]:
    """SIGTERM raises SystemExit(TERMINATED), so that what was begun is taken down.

    Gives a function that puts the handler in place again: Ray, when it starts, puts its own there, one in
    native code that prints a trace. Does nothing outside the main thread, where Python has no handlers.
    """
    if not _in_main_thread():
        yield lambda: None
        return
    before = signal.getsignal(signal.SIGTERM)

    def end(*_: object) -> None:
        raise SystemExit(TERMINATED)

    def listen() -> None:
        signal.signal(signal.SIGTERM, end)

    listen()
    try:
        yield listen
    finally:
        if _in_main_thread():  # a server may be ended from another one
            signal.signal(signal.SIGTERM, before)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def wait_for_interrupt() -> None:
    """Until Ctrl-C or SIGTERM; a second one, later, has its usual effect."""
    interrupted = Event()
    before = {number: signal.signal(number, lambda *_: interrupted.set())
              for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        interrupted.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
