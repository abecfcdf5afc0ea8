"""Sentences about a scene's parts, all true of it. It knows no question and no whole answer."""

from specflash.data.scenes import relation
from specflash.data.words import ANIMALS, NOUNS, NUMBERS, Group, Speaker, be, capital, joined

SETTING = {
    "beach": ("Gentle waves move across the blue sea behind the sand.",
              "The blue sea stretches to the horizon behind the sandy shore.",
              "Behind the sand lies the wide blue sea."),
    "park": ("A pale path crosses the green grass, and round bushes stand along the horizon.",
             "Green grass covers the ground, and a light path runs through it.",
             "Behind the grass there is a row of round green bushes."),
    "street": ("Gray buildings rise behind the sidewalk, and white dashes mark the road.",
               "The road has white markings, and gray buildings stand in a row behind it.",
               "A row of gray city buildings forms the background."),
    "kitchen": ("There is a window in the wall above a long counter.",
                "A long counter runs along the tiled wall below a window.",
                "The wall is tiled, and a window lets one look outside."),
    "snowy field": ("White snow covers the ground, and pointed hills rise in the distance.",
                    "The ground is covered with snow all the way to the distant hills.",
                    "Pale hills can be seen beyond the snow."),
    "desert": ("Low dunes rise along the horizon, and small stones lie on the sand.",
               "The sandy ground is dotted with small stones, and dunes rise behind it.",
               "Rolling dunes form the background."),
}
SKY_SENTENCE = {
    "sunny": ("The sun is shining in a clear blue sky.", "A bright yellow sun shines in the blue sky.",
              "The sky is blue and the sun is out."),
    "cloudy": ("The sky is gray and full of clouds.", "Clouds cover the gray sky.", "Several clouds hang in the sky."),
    "rainy": ("Rain is falling from the dark clouds.", "It is raining, and the sky is dark with clouds.",
              "Dark clouds fill the sky and rain is coming down."),
    "snowing": ("Snowflakes are falling from the clouds.", "It is snowing, and the sky is pale and cloudy.",
                "Snow is coming down everywhere."),
    "sunset": ("The sun is setting and the sky glows orange and red.", "The low sun colors the sky orange.",
               "The sky is orange and red because the sun is going down."),
    "night": ("The moon and many stars can be seen in the dark sky.", "It is night, and the moon shines in a dark sky.",
              "Stars and a crescent moon light the night sky."),
}
WINDOW_SENTENCE = {
    "sunny": ("Through the window one can see a sunny sky.", "Outside the window the sun is shining."),
    "rainy": ("Rain is falling outside the window.", "Through the window one can see dark clouds and rain."),
    "night": ("It is dark outside, and the moon can be seen through the window.",
              "Outside the window it is night."),
}
MOOD = {
    "sunny": ("cheerful", "bright and lively", "warm and friendly"), "cloudy": ("calm", "quiet and mild"),
    "rainy": ("wet and gloomy", "quiet and gray"), "snowing": ("cold and peaceful", "wintry"),
    "sunset": ("peaceful", "warm and romantic", "calm"), "night": ("quiet", "calm and mysterious"),
}
SIDE_WORDS = {
    "left of": (("to the left of", "on the left of"), "on the left"),
    "right of": (("to the right of", "on the right of"), "on the right"),
    "above": (("above", "higher up than"), "higher up"), "below": (("below", "lower down than"), "lower down"),
    "behind": (("behind", "farther back than"), "farther back"),
    "in front of": (("in front of", "closer to us than"), "in front"),
}


def setting(speaker: Speaker) -> str:
    return speaker.pick(*SETTING[speaker.scene.place])


def sky(speaker: Speaker) -> str:
    indoors = speaker.scene.place == "kitchen"
    return speaker.pick(*(WINDOW_SENTENCE if indoors else SKY_SENTENCE)[speaker.scene.weather])


def mood(speaker: Speaker) -> str:
    word = speaker.pick(*MOOD[speaker.scene.weather])
    return speaker.pick(f"The overall mood of the scene is {word}.", f"Altogether, the scene feels {word}.",
                        f"The whole picture has a {word} atmosphere.", f"The scene makes a {word} impression.")


def opening(speaker: Speaker) -> str:
    """Place and weather."""
    scene = speaker.pick("The image", "The picture", "This image", "This picture")
    thing = speaker.pick("a scene", "a moment", "a colorful scene", "a drawn scene")
    return speaker.pick(
        f"{scene} shows {thing} {speaker.place_in()} {speaker.weather()}.",
        f"{scene} is set {speaker.place_in()} {speaker.weather()}.",
        f"{scene} depicts {speaker.place()} {speaker.weather()}.",
        f"{scene} presents {speaker.place()} {speaker.weather()}.",
        f"In {scene.lower()}, we see {speaker.place()} {speaker.weather()}.",
        f"We are {speaker.place_in()} {speaker.weather()}.",
        f"The scene takes place {speaker.place_in()} {speaker.weather()}.")


def first(speaker: Speaker, group: Group) -> str:
    """Introduces the most prominent group."""
    some, is_, doing, where = speaker.some(group, 0.8), be(group), speaker.doing(group), speaker.where(group)
    subject = ("thing that stands", "subject") if len(group) == 1 else ("things that stand", "subjects")
    return speaker.pick(
        f"{capital(some)} {is_} {doing} {where}.",
        f"The first {subject[0]} out {is_} {some}, {doing} {where}.",
        f"{capital(where)}, {some} {is_} {doing}.",
        f"The main {subject[1]} {is_} {some} {doing} {where}.",
        f"There {is_} {some} {doing} {where}.",
        f"Most noticeable {is_} {some} {doing} {where}.",
        f"It features {some} {doing} {where}.")


def further(speaker: Speaker, group: Group) -> str:
    """Introduces another group."""
    some, is_, doing, where = speaker.some(group, 0.6), be(group), speaker.doing(group), speaker.where(group)
    return speaker.pick(
        f"{capital(some)} {is_} {doing} {where}.",
        f"{capital(where)}, {some} {is_} {doing}.",
        f"{capital(where)}, there {is_} {some} {doing}.",
        f"There {is_} also {some} {doing} {where}.",
        f"In addition, {some} {is_} {doing} {where}.",
        f"You can also see {some} {doing} {where}.",
        f"{'Another detail is' if len(group) == 1 else 'Further details are'} {some} {doing} {where}.",
        f"{capital(where)}, one can spot {some} {doing}.",
        f"{capital(some)} can be seen {doing} {where}.")


def between(speaker: Speaker, one: Group, other: Group) -> str | None:
    """How two single things stand to each other, or None where there is no clear relation."""
    if len(one) > 1 or len(other) > 1 or not (name := relation(one[0], other[0])):
        return None
    if speaker.scene.place != "kitchen" and "sky" not in (one[0].row, other[0].row):
        name = {"above": "behind", "below": "in front of"}.get(name, name)  # both stand on the ground
    options, alone = SIDE_WORDS[name]
    words = speaker.pick(*options)
    return speaker.pick(f"{capital(speaker.the(one))} is {words} {speaker.the(other)}.",
                        f"{capital(speaker.the(one))} can be found {words} {speaker.the(other)}.",
                        f"Seen from {speaker.the(other)}, {speaker.the(one)} is {alone}.")


def relations(speaker: Speaker) -> list[str]:
    groups = speaker.scene.groups
    found = (between(speaker, one, other) for index, one in enumerate(groups) for other in groups[index + 1:])
    return [sentence for sentence in found if sentence]


def total(speaker: Speaker) -> str:
    """How many things (or animals, or people) there are."""
    things = speaker.scene.things
    animals = sum(thing.kind in ANIMALS for thing in things)
    count = NUMBERS[len(things)]
    options = [f"Altogether, {count} things can be seen.", f"In total there are {count} objects in the scene.",
               f"The scene holds {count} things in all."]
    if animals > 1:
        options += [f"There are {NUMBERS[animals]} animals in total."]
    if animals == 0:
        options += ["There are no animals in the scene."]
    if all(thing.kind != "person" for thing in things):
        options += ["There are no people in the scene.", "No people can be seen."]
    return speaker.pick(*options)


def size_contrast(speaker: Speaker) -> str | None:
    """Compares a large group with a small one."""
    large = next((group for group in speaker.scene.groups if group[0].size == "large"), None)
    small = next((group for group in speaker.scene.groups if group[0].size == "small"), None)
    if not large or not small:
        return None
    grand, tiny = speaker.the(large), speaker.the(small)
    return speaker.pick(f"{capital(grand)} {be(large)} clearly larger than {tiny}.",
                        f"Compared with {grand}, {tiny} {be(small)} rather small.",
                        f"{capital(tiny)} {be(small)} smaller than {grand}.")


def rest(speaker: Speaker) -> str:
    return speaker.pick("Nothing else stands out in the picture.", "Nothing else draws attention in the scene.",
                        "Apart from that, nothing else catches the eye.")


def colours(speaker: Speaker) -> str:
    names = list(dict.fromkeys(group[0].colour for group in speaker.scene.groups))
    if len(names) == 1:
        return f"Everything that stands out is {names[0]}."
    return speaker.pick(f"The colors that stand out are {joined(names)}.",
                        f"The most striking colors are {joined(names)}.",
                        f"{capital(joined(names))} are the colors that catch the eye.")


def listing(speaker: Speaker, size: float = 0.3) -> str:
    """All groups in reading order: "a red dog, two blue birds and a person in green"."""
    return joined([speaker.some(group, size) for group in speaker.scene.groups])


def plural(kind: str) -> str:
    return NOUNS[kind][0][1]
