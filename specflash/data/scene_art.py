"""The shapes every kind of thing is drawn with, in each of its states. It knows no scene and no picture."""

from collections.abc import Callable

from specflash.data.scene_creatures import bird, cat, dog, fish, person
from specflash.data.scene_shapes import LANDING, Shape, line, moved, oval, poly, rect


def car(action: str | None) -> list[Shape]:
    wheels = [shape for x in (-28, 28) for shape in
              (oval("tyre", x - 15, -30, x + 15, 0), oval("metal", x - 7, -22, x + 7, -8))]
    body = [poly("main", (-34, -38), (-22, -66), (18, -66), (34, -38)),
            poly("glass", (-25, -42), (-17, -60), (-3, -60), (-3, -42)),
            poly("glass", (2, -42), (2, -60), (15, -60), (25, -42)),
            poly("main", (-54, -42), (50, -42), (55, -28), (54, -14), (-54, -14)),
            oval("lit", 44, -38, 54, -28), line("dark", 2.5, (0, -40), (0, -18)), *wheels]
    if action == "driving":
        body += [line("fx", 4, (-78, -44), (-58, -44)), line("fx", 4, (-82, -30), (-58, -30)),
                 oval("fx", -74, -16, -62, -4), oval("fx", -64, -12, -56, -2)]
    return body


def boat(action: str | None) -> list[Shape]:
    waves = ([line("fx", 4, (-56, 2), (-36, -3), (-16, 2), (6, -3), (28, 2), (54, -3))]
             if action == "sailing" else [])
    return [line("wood", 5, (0, -98), (0, -26)), poly("main", (5, -96), (5, -34), (46, -34)),
            poly("light", (-5, -84), (-5, -34), (-36, -34)),
            poly("main", (-52, -28), (52, -28), (34, 0), (-34, 0)), line("dark", 4, (-44, -18), (44, -18)),
            *waves]


def ball(action: str | None) -> list[Shape]:
    lift = -32 if action == "bouncing" else 0
    body = moved([oval("main", -33, -66, 33, 0), oval("light", -20, -58, -2, -40),
                  line("dark", 4, (-32, -30), (-10, -22), (14, -22), (32, -32)),
                  line("dark", 4, (2, -65), (12, -44), (12, -20), (2, -2))], 0, lift)
    if lift:
        return [*LANDING, *body, line("fx", 3, (-44, -22), (-36, -8), (-28, -20)),
                line("fx", 3, (28, -20), (36, -8), (44, -22))]
    return body


def kite(action: str | None) -> list[Shape]:
    return [line("string", 2.5, (2, -36), (-8, -22), (6, -12), (-6, 0)),
            poly("main", (0, -100), (36, -70), (2, -34), (-34, -70)),
            poly("light", (0, -100), (36, -70), (0, -70)), poly("dark", (-34, -70), (2, -34), (0, -70)),
            poly("main", (-8, -22), (-20, -28), (-18, -16)), poly("main", (-8, -22), (4, -28), (2, -16)),
            poly("main", (6, -12), (-5, -16), (-3, -5)), poly("main", (6, -12), (17, -17), (16, -5))]


def tree(action: str | None) -> list[Shape]:
    return [poly("wood", (-9, 0), (-6, -46), (6, -46), (10, 0)), oval("main", -44, -70, 4, -28),
            oval("main", -4, -70, 44, -28), oval("main", -30, -100, 30, -46),
            oval("light", -18, -90, -2, -76), oval("dark", 10, -58, 28, -44), oval("dark", -34, -54, -18, -42)]


def house(action: str | None) -> list[Shape]:
    smoke = ([oval("fx", 24, -104, 36, -94), oval("fx", 30, -118, 46, -104)] if action == "smoking" else [])
    return [rect("brick", 22, -92, 34, -62), rect("main", -42, -56, 42, 0),
            poly("roof", (-54, -54), (0, -100), (54, -54)), rect("wood", -10, -36, 10, 0),
            oval("lit", 3, -20, 8, -15), rect("glass", -36, -44, -18, -26), rect("glass", 18, -44, 36, -26),
            *smoke]


def chair(action: str | None) -> list[Shape]:
    return [rect("main", -32, -98, -22, 0), rect("main", 24, -44, 33, 0), rect("dark", -14, -36, -6, -6),
            rect("dark", 10, -36, 17, -6), rect("main", -32, -50, 36, -38), rect("light", -26, -98, -18, -50)]


def cup(action: str | None) -> list[Shape]:
    steam = ([line("fx", 4, (x, -72), (x - 6, -80), (x + 5, -88), (x, -98)) for x in (-14, 4, 22)]
             if action == "steaming" else [])
    return [oval("main", 18, -52, 50, -16), oval("hole", 27, -44, 42, -24),
            poly("main", (-34, -62), (34, -62), (26, 0), (-26, 0)), oval("light", -34, -70, 34, -54),
            oval("coffee", -28, -67, 28, -57), *steam]


def lamp(action: str | None) -> list[Shape]:
    on = action == "shining"
    glow = [poly("fxglow", (-36, -56), (36, -56), (62, 0), (-62, 0))] if on else []
    return [*glow, rect("metal", -4, -58, 4, -8), oval("metal", -24, -11, 24, 0),
            poly("main", (-18, -100), (18, -100), (36, -54), (-36, -54)),
            oval("lit" if on else "off", -10, -60, 10, -46), line("dark", 3, (-34, -58), (34, -58))]


def book(action: str | None) -> list[Shape]:
    if action == "open":
        lines = [line("string", 2.5, (side * 8, y), (side * 28, y - 5)) for side in (-1, 1) for y in (-44, -34, -24)]
        return [poly("main", (-55, -74), (0, -62), (55, -74), (55, -10), (0, 0), (-55, -10)),
                poly("white", (-36, -64), (0, -56), (0, -13), (-36, -21)),
                poly("white", (36, -64), (0, -56), (0, -13), (36, -21)), line("dark", 3, (0, -62), (0, 0)), *lines]
    return [poly("white", (-30, -4), (34, -4), (34, -14), (-30, -14)), rect("main", -38, -84, 30, -4),
            rect("dark", -38, -84, -27, -4), rect("white", -16, -70, 20, -52), line("line", 2, (-10, -61), (14, -61)),
            rect("main", -38, -5, 36, 0), poly("white", (30, -82), (36, -76), (36, -5), (30, -5))]


def flower(action: str | None) -> list[Shape]:
    petals = [oval("main", x - 15, y - 15, x + 15, y + 15) for x, y in
              ((0, -84), (20, -70), (13, -48), (-13, -48), (-20, -70))]
    return [line("leaf", 6, (0, -50), (0, 0)), oval("leaf", 2, -26, 30, -10), oval("leaf", -30, -36, -2, -20),
            *petals, oval("centre", -11, -76, 11, -54)]


ART: dict[str, Callable[[str | None], list[Shape]]] = {
    "dog": dog, "cat": cat, "bird": bird, "fish": fish, "person": person, "car": car, "boat": boat,
    "ball": ball, "kite": kite, "tree": tree, "house": house, "chair": chair, "cup": cup,
    "lamp": lamp, "book": book, "flower": flower,
}
