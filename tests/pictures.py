"""Pictures of a run's report for the documents, taken in the browser that the tests use (arena_pictures.py: arena).

python -m tests.pictures runs/demo docs/pictures

It writes report-light.png, report-dark.png and report-phone.png, each under 250 kB. It renders nothing:
`specflash bench` has written the page.
"""

import io
import sys
from pathlib import Path

from PIL import Image

from tests.browser import PHONE, launched

SHOTS = {
    "light": ((1280, 1540), "light", "main"),
    "dark": ((1280, 1500), "dark", "#strips"),
    "phone": (PHONE, "light", "main"),
}
"""Name -> window, scheme, and the part of the page that is brought to its top."""
LIMIT = 250_000


def take(run: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with launched() as chromium:
        for name, ((width, height), scheme, part) in SHOTS.items():
            context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme,
                                           device_scale_factor=2 if width < 500 else 1)
            page = context.new_page()
            page.goto((run / "report.html").resolve().as_uri())
            page.evaluate("part => document.querySelector(part).scrollIntoView()", part)
            (folder / f"report-{name}.png").write_bytes(small(page.screenshot()))
            context.close()


def small(png: bytes, limit: int = LIMIT) -> bytes:
    """The same picture in 256 colours."""
    buffer = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        buffer, "PNG", optimize=True)
    assert buffer.tell() < limit, f"{buffer.tell()} bytes"
    return buffer.getvalue()


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
