"""Words for what a scene holds: noun phrases, actions, places and weather. It builds no sentences.

Each entry lists interchangeable wordings; a `Speaker` picks among them with its own generator.
"""

from collections.abc import Sequence
from random import Random

from specflash.data.scenes import COLOUR_NAMES, Scene, Thing

Group = Sequence[Thing]

NOUNS: dict[str, tuple[tuple[str, str], ...]] = {
    "dog": (("dog", "dogs"),), "cat": (("cat", "cats"),), "bird": (("bird", "birds"),),
    "fish": (("fish", "fish"),), "person": (("person", "people"),), "car": (("car", "cars"),),
    "boat": (("boat", "boats"), ("sailboat", "sailboats")), "ball": (("ball", "balls"),),
    "kite": (("kite", "kites"),), "tree": (("tree", "trees"),),
    "house": (("house", "houses"), ("house", "houses"), ("cottage", "cottages")),
    "chair": (("chair", "chairs"),), "cup": (("cup", "cups"), ("mug", "mugs")),
    "lamp": (("lamp", "lamps"),), "book": (("book", "books"),), "flower": (("flower", "flowers"),),
}
YOUNG = {"dog": ("puppy", "puppies"), "cat": ("kitten", "kittens")}  # small ones only
ANIMALS = ("dog", "cat", "bird", "fish")
NUMBERS = ("no", "one", "two", "three", "four", "five")
SIZES = {"small": ("small", "little"), "large": ("large", "big")}

DOING: dict[tuple[str, str | None], tuple[str, ...]] = {
    ("dog", "running"): ("running", "running at full speed", "racing along"),
    ("dog", "jumping"): ("jumping", "leaping into the air", "jumping up"),
    ("dog", "sitting"): ("sitting", "sitting still", "sitting quietly"),
    ("dog", "sleeping"): ("sleeping", "lying asleep", "taking a nap"),
    ("cat", "walking"): ("walking", "strolling along", "walking around"),
    ("cat", "sitting"): ("sitting", "sitting upright", "sitting quietly"),
    ("cat", "sleeping"): ("sleeping", "curled up asleep", "taking a nap"),
    ("bird", "flying"): ("flying", "flying by", "soaring"),
    ("bird", "standing"): ("standing", "resting", "standing on thin legs"),
    ("fish", "jumping"): ("jumping out of the water", "leaping out of the sea"),
    ("fish", "swimming"): ("swimming in a glass bowl", "swimming in a round bowl", "swimming in a bowl"),
    ("person", "standing"): ("standing", "standing still"),
    ("person", "running"): ("running", "hurrying along", "running fast"),
    ("person", "waving"): ("waving", "waving hello", "waving with one hand"),
    ("person", "jumping"): ("jumping", "jumping with both arms up", "jumping for joy"),
    ("car", "driving"): ("driving", "driving along", "speeding along"),
    ("car", "parked"): ("parked", "standing still", "parked"),
    ("boat", "sailing"): ("sailing", "sailing along", "gliding over the waves"),
    ("boat", None): ("lying", "resting", "pulled up"),
    ("ball", "bouncing"): ("bouncing", "bouncing up and down", "bouncing in the air"),
    ("ball", "lying"): ("lying", "lying still", "resting"),
    ("kite", "flying"): ("flying", "floating", "drifting"),
    ("tree", None): ("growing", "standing"), ("house", None): ("standing",),
    ("house", "smoking"): ("standing with smoke rising from the chimney", "standing with a smoking chimney"),
    ("chair", None): ("standing",), ("flower", None): ("blooming", "growing", "in full bloom"),
    ("cup", None): ("standing",), ("cup", "steaming"): ("steaming", "standing with steam rising"),
    ("lamp", "shining"): ("shining", "glowing", "shining brightly"),
    ("lamp", "off"): ("standing unlit", "standing switched off"),
    ("book", "open"): ("lying open", "lying wide open"), ("book", "closed"): ("standing closed", "standing upright"),
}

PLACE_IN: dict[str, tuple[str, ...]] = {
    "beach": ("on a beach", "at the beach", "on a sandy beach"),
    "park": ("in a park", "in a green park", "in a grassy park"),
    "street": ("on a street", "on a city street", "along a city street"),
    "kitchen": ("in a kitchen", "in a tidy kitchen", "inside a kitchen"),
    "snowy field": ("in a snowy field", "in a field of snow", "in a snow-covered field"),
    "desert": ("in a desert", "in the desert", "in a sandy desert"),
}
PLACE: dict[str, tuple[str, ...]] = {
    "beach": ("a beach", "a sandy beach"), "park": ("a park", "a green park"),
    "street": ("a street", "a city street"), "kitchen": ("a kitchen", "a tidy kitchen"),
    "snowy field": ("a snowy field", "a snow-covered field"), "desert": ("a desert", "a sandy desert"),
}
WEATHER: dict[str, tuple[str, ...]] = {
    "sunny": ("on a sunny day", "under a clear blue sky", "in bright sunshine"),
    "cloudy": ("on a cloudy day", "under a cloudy sky", "under gray clouds"),
    "rainy": ("in the rain", "on a rainy day", "while it is raining"),
    "snowing": ("while snow is falling", "during a snowfall", "as snowflakes fall"),
    "sunset": ("at sunset", "as the sun goes down", "in the light of the setting sun"),
    "night": ("at night", "under a starry sky", "on a starry night"),
}
OUTSIDE: dict[str, tuple[str, ...]] = {
    "sunny": ("on a sunny day", "with sunshine outside the window"),
    "rainy": ("on a rainy day", "with rain falling outside the window"),
    "night": ("at night", "with the moon outside the window"),
}
SPOT: dict[tuple[str, str], tuple[str, ...]] = {
    ("beach", "back"): ("on the sea", "out on the water"), ("beach", "front"): ("on the sand",),
    ("park", "back"): ("in the background", "farther back on the grass"),
    ("park", "front"): ("in the foreground", "at the front"),
    ("street", "back"): ("on the sidewalk", "along the sidewalk"), ("street", "front"): ("on the road",),
    ("kitchen", "back"): ("on the counter", "on the kitchen counter"), ("kitchen", "front"): ("on the floor",),
    ("snowy field", "back"): ("in the background", "farther back in the snow"),
    ("snowy field", "front"): ("in the foreground", "at the front"),
    ("desert", "back"): ("in the background", "farther back in the desert"),
    ("desert", "front"): ("in the foreground", "at the front"),
}
SKY = ("in the sky", "up in the sky", "high in the air")
COLUMN = (("on the left", "on the left side"), ("in the middle", "in the center"),
          ("on the right", "on the right side"))
COLUMNS = {(0, 1): ("on the left and in the middle",), (0, 2): ("on the left and on the right", "on both sides"),
           (1, 2): ("in the middle and on the right",), (0, 1, 2): ("side by side", "in a row")}


def article(phrase: str) -> str:
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


def joined(parts: Sequence[str]) -> str:
    """"a", "a and b", "a, b and c"."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


PLURALS = (("the chimney", "the chimneys"), ("a smoking chimney", "smoking chimneys"), ("a glass bowl", "glass bowls"),
           ("a round bowl", "round bowls"), ("a bowl", "bowls"), (" its ", " their "), ("it gets", "they get"),
           ("it is", "they are"), ("drives it", "drives them"), ("lower the arm", "lower their arms"))


def of_several(phrase: str, group: Group) -> str:
    """`phrase` about one thing, turned to the number of the group."""
    for one, several in PLURALS if len(group) > 1 else ():
        phrase = phrase.replace(one, several)
    return phrase


class Speaker:
    """Wordings for one scene, picked with one generator."""

    def __init__(self, scene: Scene, rng: Random):
        self.scene, self.rng = scene, rng

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def maybe(self, share: float, text: str) -> str:
        return text if self.rng.random() < share else ""

    def noun(self, group: Group) -> str:
        words = NOUNS[group[0].kind]
        if group[0].size == "small" and group[0].kind in YOUNG and self.rng.random() < 0.15:
            words = (YOUNG[group[0].kind],)
        return self.rng.choice(words)[len(group) > 1]

    def dress(self, group: Group) -> str:
        colour = group[0].colour
        return self.pick(f"in {colour}", f"in {colour} clothes", f"wearing {colour}", f"dressed in {colour}")

    def some(self, group: Group, size: float = 0.5) -> str:
        """"a small red dog", "two blue birds", "a person in green". `size`: how often it is told."""
        big = self.maybe(size, self.pick(*SIZES[group[0].size]) + " ")
        if group[0].kind == "person":
            body = f"{big}{self.noun(group)} {self.dress(group)}"
        else:
            body = f"{big}{group[0].colour} {self.noun(group)}"
        return article(body) if len(group) == 1 else f"{NUMBERS[len(group)]} {body}"

    def the(self, group: Group) -> str:
        """"the red dog", "the two blue birds", "the person in green"."""
        count = f"{NUMBERS[len(group)]} " if len(group) > 1 else ""
        if group[0].kind == "person":
            return f"the {count}{self.noun(group)} in {group[0].colour}"
        return f"the {count}{group[0].colour} {self.noun(group)}"

    def doing(self, group: Group) -> str:
        return of_several(self.pick(*DOING[group[0].kind, group[0].action]), group)

    def spot(self, group: Group) -> str:
        """"on the road", "up in the sky": the row."""
        if group[0].row == "sky":
            return self.pick(*SKY)
        return self.pick(*SPOT[self.scene.place, group[0].row])

    def side(self, group: Group) -> str:
        """"on the left", "in a row": the columns."""
        columns = tuple(thing.column for thing in group)
        return self.pick(*(COLUMN[columns[0]] if len(columns) == 1 else COLUMNS[columns]))

    def where(self, group: Group) -> str:
        """Row, columns, or both."""
        if group[0].kind == "fish" and group[0].action == "jumping":
            return self.side(group)
        return self.pick(self.spot(group), self.side(group), f"{self.spot(group)} {self.side(group)}")

    def place_in(self) -> str:
        return self.pick(*PLACE_IN[self.scene.place])

    def place(self) -> str:
        return self.pick(*PLACE[self.scene.place])

    def weather(self) -> str:
        table = OUTSIDE if self.scene.place == "kitchen" else WEATHER
        return self.pick(*table[self.scene.weather])


def be(group: Group) -> str:
    return "is" if len(group) == 1 else "are"


KINDS_WORDS = {kind: words[0][0] for kind, words in NOUNS.items()}


def naming_words() -> set[str]:
    """Every word that names a kind of thing or a colour: what only the picture can tell."""
    nouns = {form for forms in NOUNS.values() for pair in forms for form in pair}
    return nouns | {form for pair in YOUNG.values() for form in pair} | set(COLOUR_NAMES)
