"""A real browser for the tests of pages: Debian's chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DESKTOP, PHONE = (1280, 900), (390, 844)


@dataclass
class Opened:
    """A page, and what went wrong on it: console errors, uncaught exceptions, failed and outside requests."""

    page: "Page"  # noqa: F821  playwright is imported where a browser is there
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:  # noqa: F821
    """Headless chromium, started once per file; without one the tests that ask for it are skipped.

    Playwright's loop counts as running until it is stopped, and `asyncio.run` of any later test would fail.
    """
    if CHROMIUM is None:
        pytest.skip("no chromium here (apt-get install chromium)")
    with launched() as chromium:
        yield chromium


@contextmanager
def launched() -> Iterator["Browser"]:  # noqa: F821
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@contextmanager
def opened(browser: "Browser", url: str, size: tuple[int, int] = DESKTOP,  # noqa: F821
           scheme: str = "light") -> Iterator[Opened]:
    """`url` in a window of its own; `scheme` is light or dark."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    seen = Opened(page)
    page.on("console", lambda message: seen.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("requestfailed", lambda request: seen.complaints.append(f"request failed: {request.url}"))
    page.goto(url, wait_until="load")
    yield seen
    context.close()
