"""Pictures of a race in the arena for the documents, taken of a running server in the browser that the tests use.

python -m tests.arena_pictures http://127.0.0.1:8000 docs/pictures

It writes arena-light.png and arena-phone.png, each under 200 kB. What is on them is what the server answered.
"""

import sys
from pathlib import Path

from tests.browser import PHONE, launched
from tests.pictures import small

SHOTS = {"light": ((1280, 1290), 1, "body"), "phone": (PHONE, 2, "#race")}
"""Name -> window, pixels of a point, and the part of the page that is brought to its top."""
LIMIT = 200_000
PATIENCE = 300_000  # milliseconds for three answers


def take(url: str, folder: Path) -> None:
    with launched() as chromium:
        for name, ((width, height), scale, part) in SHOTS.items():
            context = chromium.new_context(viewport={"width": width, "height": height}, device_scale_factor=scale)
            page = context.new_page()
            page.goto(f"{url}/arena")
            page.wait_for_selector("#go:enabled")
            page.click("#go")
            page.wait_for_selector("#summary tbody tr", timeout=PATIENCE)
            page.evaluate("part => document.querySelector(part).scrollIntoView()", part)
            (folder / f"arena-{name}.png").write_bytes(small(page.screenshot(), LIMIT))
            context.close()


if __name__ == "__main__":
    take(sys.argv[1], Path(sys.argv[2]))
