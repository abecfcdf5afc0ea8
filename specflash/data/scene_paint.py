"""Painting shapes in a thing's colour. It knows no scene and no kind of thing."""

from collections.abc import Sequence

from PIL import ImageDraw

from specflash.data.scene_shapes import Shape

Colour = tuple[int, int, int]

COLOURS: dict[str, Colour] = {
    "red": (212, 38, 38), "orange": (246, 132, 28), "yellow": (248, 214, 48), "green": (44, 156, 66),
    "blue": (40, 92, 214), "purple": (132, 60, 178), "pink": (250, 138, 188), "brown": (122, 72, 38),
    "black": (34, 34, 38), "white": (244, 244, 244),
}
FIXED_TONES: dict[str, Colour] = {
    "line": (32, 28, 30), "skin": (238, 190, 150), "hair": (84, 56, 36), "wood": (134, 94, 58),
    "leaf": (70, 146, 60), "metal": (176, 180, 186), "tyre": (46, 46, 50), "glass": (188, 222, 240),
    "glassline": (120, 150, 170), "white": (250, 250, 250), "eye": (222, 236, 150), "inner": (236, 150, 160),
    "beak": (240, 160, 40), "lit": (255, 240, 150), "off": (150, 150, 150), "brick": (150, 90, 76),
    "roof": (112, 84, 84), "string": (120, 120, 124), "hole": (224, 220, 212), "coffee": (92, 62, 44),
    "centre": (120, 80, 36), "fx": (240, 244, 248), "fxshade": (96, 96, 92), "fxglow": (255, 244, 176),
    "fxwater": (146, 200, 232),
}
PLAIN = ("line", "fxshade", "fxglow", "fxwater", "string")  # drawn without an outline


def _mix(colour: Colour, other: Colour, share: float) -> Colour:
    return tuple(int(a + (b - a) * share) for a, b in zip(colour, other, strict=True))


def tones(tint: Colour) -> dict[str, Colour]:
    """The colour of every tone for a thing of this colour. Dark things get lighter details."""
    dim = sum(tint) < 180
    return FIXED_TONES | {
        "main": tint, "light": _mix(tint, (255, 255, 255), 0.2 if dim else 0.35),
        "dark": _mix(tint, (255, 255, 255), 0.25) if dim else _mix(tint, (0, 0, 0), 0.28),
        "line": (150, 150, 154) if dim else FIXED_TONES["line"],
    }


def shape_box(shapes: Sequence[Shape], side: int) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of everything but the effects, within a picture of side × side."""
    points = [point for shape in shapes if not shape.tone.startswith("fx") for point in shape.points]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return max(0, round(min(xs))), max(0, round(min(ys))), min(side, round(max(xs))), min(side, round(max(ys)))


def paint_shapes(draw: ImageDraw.ImageDraw, zoom: int, shapes: Sequence[Shape], tint: Colour,
                 label: int | None = None) -> None:
    """Paint `shapes` (pixels, multiplied by `zoom`); with `label`, everything but effects in that value."""
    palette = tones(tint)
    for shape in shapes:
        if label is not None and shape.tone.startswith("fx"):
            continue
        fill = palette[shape.tone] if label is None else label
        edge = palette["line"] if label is None else label
        points = [(x * zoom, y * zoom) for x, y in shape.points]
        outlined = shape.tone not in PLAIN
        if shape.form == "line":
            width = max(1, round(shape.width * zoom))
            if outlined and shape.width > 2.9:
                _stroke(draw, points, edge, width + round(1.6 * zoom))
            _stroke(draw, points, fill, width)
        elif shape.form == "oval":
            (x0, y0), (x1, y1) = points
            box = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
            draw.ellipse(box, fill, edge if outlined else None, zoom if outlined else 0)
        else:
            draw.polygon(points, fill, edge if outlined else None, zoom if outlined else 1)


def _stroke(draw: ImageDraw.ImageDraw, points: list[tuple[float, float]], fill: Colour | int, width: int) -> None:
    draw.line(points, fill, width, "curve")
    reach = width / 2
    for x, y in (points[0], points[-1]):
        draw.ellipse((x - reach, y - reach, x + reach, y + reach), fill)
