"""The arena: a page on which methods race to answer the same request. Files only; the server hands them out."""

from pathlib import Path

from dashboards.colours import PALETTE

FOLDER = Path(__file__).parent
MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def assets() -> dict[str, tuple[bytes, str]]:
    """File name -> content and media type. The style sheet begins with the palette of all pages."""
    found = {path.name: (path.read_bytes(), MEDIA[path.suffix])
             for path in sorted(FOLDER.iterdir()) if path.suffix in MEDIA}
    style, media = found["arena.css"]
    return found | {"arena.css": (PALETTE.encode() + style, media)}
