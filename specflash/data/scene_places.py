"""Backgrounds: the empty places a scene happens in. It knows no things.

Drawn on a canvas of SIDE × SIDE units, scaled by `ImageDraw`'s caller through `Canvas`.
"""

from random import Random

from PIL import ImageDraw

SIDE = 336
HORIZON = 128
Colour = tuple[int, int, int]

SKIES: dict[str, tuple[Colour, Colour]] = {
    "sunny": ((96, 170, 235), (180, 220, 248)), "cloudy": ((150, 160, 172), (200, 206, 212)),
    "rainy": ((104, 116, 132), (150, 160, 170)), "snowing": ((160, 172, 190), (212, 220, 230)),
    "sunset": ((214, 110, 110), (250, 190, 120)), "night": ((34, 42, 92), (70, 80, 134)),
}
DIM = {"sunny": 1.0, "cloudy": 0.9, "rainy": 0.8, "snowing": 0.96, "sunset": 0.88, "night": 0.7}


class Canvas:
    """An `ImageDraw` in units: every coordinate is multiplied by `zoom`."""

    def __init__(self, draw: ImageDraw.ImageDraw, zoom: int, light: float = 1.0):
        self.draw, self.zoom, self.light = draw, zoom, light

    def shade(self, colour: Colour) -> Colour:
        return tuple(int(part * self.light) for part in colour)

    def rect(self, colour: Colour, *box: float) -> None:
        self.draw.rectangle([part * self.zoom for part in box], self.shade(colour))

    def oval(self, colour: Colour, *box: float) -> None:
        self.draw.ellipse([part * self.zoom for part in box], self.shade(colour))

    def poly(self, colour: Colour, *points: tuple[float, float]) -> None:
        self.draw.polygon([(x * self.zoom, y * self.zoom) for x, y in points], self.shade(colour))

    def line(self, colour: Colour, width: float, *points: tuple[float, float]) -> None:
        self.draw.line([(x * self.zoom, y * self.zoom) for x, y in points], self.shade(colour),
                       max(1, round(width * self.zoom)))


def sky(draw: ImageDraw.ImageDraw, zoom: int, weather: str, rng: Random,
        window: tuple[int, int, int, int] = (0, 0, SIDE, HORIZON + 8)) -> None:
    """Sky with sun, moon, stars or clouds, inside `window`."""
    canvas = Canvas(draw, zoom)
    x0, y0, x1, y1 = window
    top, bottom = SKIES[weather]
    for step in range(8):
        share = step / 7
        colour = tuple(int(a + (b - a) * share) for a, b in zip(top, bottom, strict=True))
        canvas.rect(colour, x0, y0 + (y1 - y0) * step / 8, x1, y0 + (y1 - y0) * (step + 1) / 8)
    scale = min(1.0, (x1 - x0) / 150)
    x, y = rng.uniform(x0 + 18 * scale, x1 - 40 * scale), y0 + rng.uniform(8, 20) * scale
    if weather == "sunny":
        canvas.oval((255, 238, 120), x, y, x + 26 * scale, y + 26 * scale)
    elif weather == "sunset":
        canvas.oval((255, 214, 130), x, y1 - 34 * scale, x + 40 * scale, y1 + 6)
        canvas.rect(bottom, x0, y1 - 1, x1, y1)
    elif weather == "night":
        for _ in range(int(26 * scale)):
            u, v = rng.uniform(x0 + 3, x1 - 3), rng.uniform(y0 + 3, y1 - 12)
            canvas.oval((236, 236, 210), u, v, u + 2.2, v + 2.2)
        canvas.oval((240, 236, 208), x, y, x + 24 * scale, y + 24 * scale)
        canvas.oval(top, x + 8 * scale, y - 2, x + 30 * scale, y + 20 * scale)
    else:
        for _ in range(max(2, int(5 * scale))):
            u, v = rng.uniform(x0, x1 - 60 * scale), rng.uniform(y0 + 4, y0 + (y1 - y0) * 0.45)
            tone = (222, 226, 232) if weather != "rainy" else (84, 92, 106)
            for dx, dy, size in ((0, 6, 22), (14, 0, 30), (34, 7, 20)):
                left, top_edge = u + dx * scale, v + dy * scale
                canvas.oval(tone, left, top_edge, left + size * scale, top_edge + size * 0.6 * scale)


def falling(draw: ImageDraw.ImageDraw, zoom: int, weather: str, rng: Random) -> None:
    """Rain or snow over the whole picture."""
    canvas = Canvas(draw, zoom)
    for _ in range({"rainy": 60, "snowing": 70}.get(weather, 0)):
        x, y = rng.uniform(0, SIDE), rng.uniform(0, SIDE)
        if weather == "rainy":
            canvas.line((196, 212, 232), 1, (x, y), (x - 3, y + 10))
        else:
            canvas.oval((252, 252, 255), x, y, x + 3.4, y + 3.4)


def beach(canvas: Canvas, rng: Random) -> None:
    canvas.rect((52, 138, 186), 0, HORIZON, SIDE, 222)
    canvas.rect((70, 160, 200), 0, HORIZON, SIDE, HORIZON + 16)
    for _ in range(14):
        x, y = rng.uniform(-10, SIDE), rng.uniform(HORIZON + 10, 206)
        canvas.line((150, 206, 226), 2, (x, y), (x + 10, y - 3), (x + 20, y))
    canvas.rect((236, 246, 248), 0, 216, SIDE, 223)
    canvas.rect((233, 208, 154), 0, 222, SIDE, SIDE)
    for _ in range(26):
        x, y = rng.uniform(0, SIDE), rng.uniform(228, SIDE)
        canvas.oval((204, 176, 122), x, y, x + 4, y + 3)


def park(canvas: Canvas, rng: Random) -> None:
    for x in range(-30, SIDE, 70):
        canvas.oval((86, 140, 92), x, HORIZON - 22 + rng.uniform(0, 8), x + 110, HORIZON + 40)
    canvas.rect((122, 184, 92), 0, HORIZON + 6, SIDE, SIDE)
    canvas.poly((214, 196, 156), (0, 232), (SIDE, 214), (SIDE, 234), (0, 258))
    for _ in range(30):
        x, y = rng.uniform(0, SIDE), rng.uniform(HORIZON + 14, SIDE)
        canvas.line((92, 152, 70), 2, (x, y), (x + 2, y - 6), (x + 4, y))


def street(canvas: Canvas, rng: Random) -> None:
    x = -10.0
    while x < SIDE:
        width, height = rng.uniform(34, 60), rng.uniform(24, 66)
        canvas.rect((158, 166, 178), x, HORIZON - height, x + width, HORIZON + 10)
        for column in range(int(width // 14)):
            for row in range(int(height // 16)):
                canvas.rect((186, 194, 204), x + 5 + column * 14, HORIZON - height + 6 + row * 16,
                            x + 11 + column * 14, HORIZON - height + 13 + row * 16)
        x += width + 3
    canvas.rect((196, 192, 186), 0, HORIZON + 8, SIDE, 218)
    for x in range(0, SIDE, 42):
        canvas.line((176, 172, 166), 1.5, (x + 14, HORIZON + 8), (x, 214))
    canvas.rect((150, 148, 146), 0, 214, SIDE, 222)
    canvas.rect((104, 106, 112), 0, 222, SIDE, SIDE)
    for x in range(int(rng.uniform(-30, 0)), SIDE, 66):
        canvas.rect((226, 222, 200), x, 268, x + 36, 274)


def kitchen(canvas: Canvas, rng: Random) -> None:
    canvas.rect((226, 220, 204), 0, 0, SIDE, 232)
    for y in range(116, 190, 18):
        for x in range(-9 if (y // 18) % 2 else 0, SIDE, 26):
            canvas.rect((212, 208, 196), x, y, x + 24, y + 16)
    canvas.rect((172, 150, 124), 0, 196, SIDE, 212)
    canvas.rect((206, 190, 166), 0, 212, SIDE, 248)
    for x in range(10, SIDE, 82):
        canvas.rect((190, 172, 146), x, 216, x + 70, 244)
        canvas.rect((140, 130, 118), x + 30, 220, x + 40, 223)
    canvas.rect((188, 178, 168), 0, 248, SIDE, SIDE)
    for x in range(-40, SIDE + 80, 48):
        canvas.line((170, 160, 150), 1.5, (x, SIDE), (x * 0.8 + 34, 248))
    for y in (270, 300):
        canvas.line((170, 160, 150), 1.5, (0, y), (SIDE, y))


def snowy_field(canvas: Canvas, rng: Random) -> None:
    for x in range(-20, SIDE, 56):
        canvas.poly((176, 190, 210), (x, HORIZON + 12), (x + 46, HORIZON - rng.uniform(14, 34)), (x + 96, HORIZON + 12))
    canvas.rect((226, 233, 243), 0, HORIZON + 8, SIDE, SIDE)
    for _ in range(9):
        x, y = rng.uniform(-40, SIDE), rng.uniform(HORIZON + 16, SIDE - 20)
        canvas.oval((210, 220, 234), x, y, x + rng.uniform(40, 90), y + 10)


def desert(canvas: Canvas, rng: Random) -> None:
    for x in range(-60, SIDE, 110):
        canvas.oval((214, 158, 96), x, HORIZON - 16 + rng.uniform(0, 8), x + 190, HORIZON + 60)
    canvas.rect((226, 176, 112), 0, HORIZON + 16, SIDE, SIDE)
    for _ in range(12):
        x, y = rng.uniform(-20, SIDE), rng.uniform(HORIZON + 26, SIDE)
        canvas.line((202, 150, 90), 2, (x, y), (x + 16, y - 4), (x + 34, y))
    for _ in range(7):
        x, y = rng.uniform(0, SIDE), rng.uniform(HORIZON + 20, SIDE)
        canvas.oval((170, 128, 88), x, y, x + 8, y + 5)


WINDOW = (118, 16, 218, 92)
GROUNDS = {"beach": beach, "park": park, "street": street, "kitchen": kitchen,
           "snowy field": snowy_field, "desert": desert}


def paint_place(draw: ImageDraw.ImageDraw, zoom: int, place: str, weather: str, rng: Random) -> None:
    """The whole background. Indoors the weather shows through a window only."""
    if place == "kitchen":
        canvas = Canvas(draw, zoom, 0.8 if weather == "night" else 1.0)
        kitchen(canvas, rng)
        x0, y0, x1, y1 = WINDOW
        canvas.rect((250, 248, 242), x0 - 6, y0 - 6, x1 + 6, y1 + 6)
        sky(draw, zoom, weather, rng, WINDOW)
        if weather == "rainy":
            for _ in range(16):
                x, y = rng.uniform(x0 + 3, x1 - 1), rng.uniform(y0, y1 - 12)
                Canvas(draw, zoom).line((206, 220, 238), 1.2, (x, y), (x - 3, y + 10))
        canvas.rect((250, 248, 242), (x0 + x1) / 2 - 2, y0, (x0 + x1) / 2 + 2, y1)
        canvas.rect((250, 248, 242), x0 - 6, y1, x1 + 6, y1 + 6)
        return
    sky(draw, zoom, weather, rng)
    GROUNDS[place](Canvas(draw, zoom, DIM[weather]), rng)
    falling(draw, zoom, weather, rng)
