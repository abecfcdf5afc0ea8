"""Dogs, cats, birds, fish and people in their poses, as shapes. It knows no scene and no picture."""

from specflash.data.scene_shapes import LANDING, SLEEP, SPEED, Shape, line, moved, oval, poly


def _dog_head(x: float, y: float, asleep: bool = False) -> list[Shape]:
    eye = (line("line", 3, (x + 2, y - 2), (x + 9, y - 1)) if asleep
           else oval("line", x + 2, y - 7, x + 8, y - 1))
    return [oval("main", x - 18, y - 18, x + 18, y + 16), oval("light", x + 4, y - 5, x + 36, y + 13),
            oval("line", x + 27, y - 5, x + 36, y + 3), eye, oval("dark", x - 20, y - 17, x - 5, y + 18)]


def dog(action: str | None) -> list[Shape]:
    if action == "sleeping":
        return [line("main", 9, (-38, -8), (-52, -4)), oval("main", -46, -42, 26, 0),
                oval("dark", -20, -14, 24, 0), *_dog_head(22, -18, asleep=True), *SLEEP]
    if action == "sitting":
        return [line("main", 9, (-24, -10), (-46, -26)), oval("main", -32, -46, 14, 0),
                poly("main", (-20, -40), (-12, -70), (14, -70), (18, -20), (16, 0), (4, 0)),
                line("dark", 9, (12, -34), (12, -3)), *_dog_head(6, -78)]
    fast = action in ("running", "jumping")
    feet = ((-52, -12), (-30, -2), (30, -2), (48, -14)) if fast else ((-34, -2),) * 2 + ((16, -2),) * 2
    hips = ((-32, -38), (-24, -36), (10, -36), (14, -40))
    legs = [line("main", 10, hip, foot) for hip, foot in zip(hips, feet, strict=True)]
    body = [line("main", 8, (-34, -52), (-52, -72)), *legs, oval("main", -42, -66, 24, -28),
            line("light", 7, (14, -62), (22, -46)), *_dog_head(22, -72)]
    return [*LANDING, *moved(body, 0, -10)] if action == "jumping" else [*body, *SPEED]


def _cat_head(x: float, y: float, asleep: bool = False) -> list[Shape]:
    eyes = ([line("line", 3, (x - 11, y), (x - 4, y)), line("line", 3, (x + 4, y), (x + 11, y))]
            if asleep else
            [oval("eye", x - 12, y - 8, x - 3, y + 3), oval("eye", x + 3, y - 8, x + 12, y + 3),
             oval("line", x - 9, y - 6, x - 6, y + 2), oval("line", x + 6, y - 6, x + 9, y + 2)])
    whiskers = [line("line", 1.6, (x + side * 8, y + 7), (x + side * 30, y + rise))
                for side in (-1, 1) for rise in (3, 9)]
    return [poly("main", (x - 22, y - 4), (x - 21, y - 34), (x - 3, y - 18)),
            poly("main", (x + 22, y - 4), (x + 21, y - 34), (x + 3, y - 18)),
            poly("inner", (x - 18, y - 14), (x - 18, y - 27), (x - 9, y - 18)),
            poly("inner", (x + 18, y - 14), (x + 18, y - 27), (x + 9, y - 18)),
            oval("main", x - 23, y - 20, x + 23, y + 17), *eyes, *whiskers,
            poly("inner", (x - 4, y + 4), (x + 4, y + 4), (x, y + 9))]


def cat(action: str | None) -> list[Shape]:
    if action == "sleeping":
        return [oval("main", -48, -42, 34, 0), line("dark", 9, (-40, -12), (-20, -4), (10, -4)),
                *_cat_head(20, -22, asleep=True), *moved(SLEEP, 8, -4)]
    if action == "sitting":
        return [line("main", 9, (-12, -6), (-38, -8), (-46, -30), (-38, -46)),
                oval("main", -26, -58, 22, 0), oval("light", -8, -40, 12, -6),
                line("dark", 4, (2, -26), (2, -2)), *_cat_head(0, -66)]
    legs = [line("main", 9, (x, -30), (x + lean, -3)) for x, lean in
            ((-32, -6), (-22, 4), (4, -6), (14, 5))]
    return [line("main", 8, (-36, -42), (-48, -62), (-40, -88)), *legs, oval("main", -42, -58, 26, -22),
            *_cat_head(22, -62)]


def bird(action: str | None) -> list[Shape]:
    if action == "flying":
        return [poly("dark", (-52, -38), (-26, -46), (-28, -62)), oval("main", -34, -66, 26, -34),
                poly("main", (-20, -56), (-38, -100), (12, -58)), poly("dark", (-6, -50), (-16, -10), (16, -46)),
                oval("main", 12, -74, 42, -46), oval("line", 28, -66, 34, -60),
                poly("beak", (40, -64), (56, -57), (40, -53))]
    return [line("beak", 4, (-6, -24), (-8, 0)), line("beak", 4, (6, -24), (6, 0)),
            poly("dark", (-24, -40), (-52, -22), (-46, -44)), oval("main", -30, -66, 24, -18),
            oval("dark", -28, -56, 6, -30), oval("main", 0, -94, 34, -58), oval("line", 18, -82, 25, -75),
            poly("beak", (31, -80), (52, -73), (31, -67))]


def _fish_body(dx: float, dy: float) -> list[Shape]:
    return moved([poly("main", (-22, -20), (-46, -40), (-46, 2)), oval("main", -30, -40, 36, 2),
                  poly("dark", (-8, -38), (8, -54), (16, -36)), poly("dark", (-6, -16), (-16, -6), (4, -10)),
                  oval("white", 14, -30, 25, -19), oval("line", 18, -28, 24, -22)], dx, dy)


def fish(action: str | None) -> list[Shape]:
    if action == "jumping":
        drops = [oval("fx", x, y, x + 6, y + 8) for x, y in ((-40, -22), (-20, -12), (24, -14), (40, -24))]
        return [*_fish_body(2, -40), *drops, line("fx", 4, (-46, -2), (-20, -6), (4, -2), (28, -6), (48, -2))]
    water = [oval("glass", -52, -94, 52, 0), oval("fxwater", -50, -70, 50, -3)]
    return [*water, *_fish_body(4, -24), line("glassline", 4, (-30, -94), (30, -94))]


def _person_top(x: float, lift: float) -> list[Shape]:
    return moved([oval("hair", -14, -103, 14, -72), oval("skin", -12, -99, 12, -72),
                  oval("line", -7, -89, -3, -84), oval("line", 3, -89, 7, -84),
                  line("line", 2, (-4, -78), (4, -78))], x, lift + 3)


def person(action: str | None) -> list[Shape]:
    swing = {"running": ((-26, -2), (24, -10), (-30, -44), (30, -56)),
             "jumping": ((-24, -6), (24, -6), (-34, -84), (34, -84)),
             "waving": ((-9, -2), (9, -2), (-22, -34), (34, -88))}
    left, right, hand_l, hand_r = swing.get(action or "", ((-9, -2), (9, -2), (-22, -34), (22, -34)))
    body = [line("dark", 11, (-7, -36), left), line("dark", 11, (7, -36), right),
            line("main", 10, (-12, -66), hand_l), line("main", 10, (12, -66), hand_r),
            oval("skin", hand_l[0] - 6, hand_l[1] - 6, hand_l[0] + 6, hand_l[1] + 6),
            oval("skin", hand_r[0] - 6, hand_r[1] - 6, hand_r[0] + 6, hand_r[1] + 6),
            poly("main", (-16, -72), (16, -72), (15, -32), (-15, -32)), *_person_top(0, 0)]
    if action == "waving":
        body += [line("fx", 3, (42, -98), (48, -90), (46, -80)), line("fx", 3, (22, -104), (16, -98))]
    if action == "running":
        body += SPEED
    return [*LANDING, *moved(body, 0, -12)] if action == "jumping" else body
