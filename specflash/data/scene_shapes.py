"""What things are drawn with: shapes as data. It knows no thing, no scene and no picture.

A shape is (form, points, tone). Units: a thing stands on y = 0, is at most about 100 units high
(y runs down, so its top is at -100) and about 100 units wide around x = 0. The tone is a role
("main" is the thing's own colour) that the painter turns into a colour. Tones starting with
"fx" are effects (motion lines, steam, glow): they belong to no thing's box or mask.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Shape(NamedTuple):
    form: str  # "poly", "oval" (two corners) or "line"
    points: tuple[tuple[float, float], ...]
    tone: str
    width: float = 0.0  # of a line, in units


def poly(tone: str, *points: tuple[float, float]) -> Shape:
    return Shape("poly", points, tone)


def oval(tone: str, x0: float, y0: float, x1: float, y1: float) -> Shape:
    return Shape("oval", ((x0, y0), (x1, y1)), tone)


def rect(tone: str, x0: float, y0: float, x1: float, y1: float) -> Shape:
    return Shape("poly", ((x0, y0), (x1, y0), (x1, y1), (x0, y1)), tone)


def line(tone: str, width: float, *points: tuple[float, float]) -> Shape:
    return Shape("line", points, tone, width)


def moved(shapes: Sequence[Shape], dx: float, dy: float) -> list[Shape]:
    return [shape._replace(points=tuple((x + dx, y + dy) for x, y in shape.points))
            for shape in shapes]


SLEEP = [line("fx", 3, (30, -62), (40, -62), (30, -50), (40, -50)),
         line("fx", 3, (42, -84), (55, -84), (42, -69), (55, -69))]
SPEED = [line("fx", 3, (-72, -58), (-52, -58)), line("fx", 3, (-76, -42), (-54, -42)),
         line("fx", 3, (-70, -26), (-52, -26))]
LANDING = [oval("fxshade", -34, -4, 34, 6)]
