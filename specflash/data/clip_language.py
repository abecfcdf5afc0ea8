"""A drawn clip in words: who moves, in which colour, and how. It draws nothing and opens no file.

Everything said is true of the clip; the wording follows from the generator that is given. Things come in
the clip's order, what moves first.
"""

from random import Random

from specflash.data.clip_scenes import ClipScene, Mover
from specflash.data.words import Speaker, capital, joined

VERBS: dict[str, tuple[tuple[str, str], ...]] = {
    "dog": (("runs", "running"), ("dashes", "dashing"), ("trots", "trotting")),
    "cat": (("walks", "walking"), ("strolls", "strolling"), ("pads", "padding")),
    "person": (("runs", "running"), ("jogs", "jogging"), ("hurries", "hurrying")),
    "car": (("drives", "driving"), ("rolls", "rolling"), ("moves", "moving")),
    "ball": (("rolls", "rolling"),),
    "bird": (("flies", "flying"), ("glides", "gliding"), ("soars", "soaring")),
    "kite": (("drifts", "drifting"), ("floats", "floating"), ("flies", "flying")),
    "boat": (("sails", "sailing"), ("glides", "gliding"), ("floats", "floating")),
}
WAYS: dict[str, tuple[str, ...]] = {
    "left": ("from right to left", "to the left", "toward the left side", "across the picture to the left"),
    "right": ("from left to right", "to the right", "toward the right side", "across the picture to the right"),
    "up": ("upward", "higher and higher", "up into the sky"),
    "down": ("downward", "lower and lower", "down toward the ground"),
    "closer": ("toward the camera", "closer and closer", "straight toward the camera"),
    "away": ("away from the camera", "farther and farther away", "away into the distance"),
}
HOPS = (("bounces up and down", "bouncing up and down"), ("keeps bouncing", "bouncing again and again"),
        ("bounces in place", "bouncing in place"))
STILL = ("does not move", "stays still", "remains still", "stays in its place")
ENDS = {"left": ("on the right", "on the left"), "right": ("on the left", "on the right"),
        "up": ("low in the picture", "high up"), "down": ("high up", "low in the picture"),
        "closer": ("small", "large"), "away": ("large", "small")}
TELLING = ("left", "right", "upward", "higher", "up", "downward", "lower", "down", "toward", "closer", "away",
           "farther", "bounces", "bouncing", "still", "move")
"""Every word that tells how a thing moves: what only several frames can tell."""


class Narrator(Speaker):
    """Wordings for one clip, picked with one generator."""

    def motion(self, thing: Mover, form: int = 0) -> str:
        """"runs to the left"; with form 1 "running to the left"."""
        if thing.motion == "still":
            return (self.pick(*STILL), "standing still")[form]
        if thing.motion == "bouncing":
            return self.pick(*HOPS)[form]
        return f"{self.pick(*VERBS[thing.kind])[form]} {self.pick(*WAYS[thing.motion])}"

    def act(self, thing: Mover) -> str:
        """"a red dog runs to the left", its parts in one of several orders."""
        some = self.some((thing,))
        if thing.motion in WAYS and self.rng.random() < 0.2:
            return f"{self.pick(*WAYS[thing.motion])}, {some} {self.pick(*VERBS[thing.kind])[0]}"
        return self.pick(f"{some} {self.motion(thing)}", f"{some} is {self.motion(thing, 1)}",
                         f"there is {some} {self.motion(thing, 1)}")


def clip_caption(clip: ClipScene, rng: Random) -> str:
    """Two to five sentences: where it is, what each thing is and does, and how it ends."""
    narrator = Narrator(clip, rng)
    lead, *rest = clip.things
    moving, still = [[thing for thing in rest if (thing.motion == "still") == is_still] for is_still in (False, True)]
    place, weather = narrator.place_in(), narrator.maybe(0.5, " " + narrator.weather())
    parts = [narrator.pick(
        f"{capital(place)}{weather}, {narrator.act(lead)}.", f"{capital(narrator.act(lead))} {place}{weather}.",
        f"The video shows {narrator.place()}{weather}. {capital(narrator.act(lead))}.",
        f"In this video, {narrator.act(lead)} {place}{weather}.",
        f"The clip takes place {place}{weather}. {capital(narrator.act(lead))}.")]
    parts += [f"{narrator.pick('Meanwhile', 'At the same time', 'In the meantime')}, {narrator.act(thing)}."
              for thing in moving]
    parts += _still(narrator, still)
    if lead.motion in ENDS and rng.random() < 0.5:
        parts.append(_ending(narrator, lead))
    if not still and rng.random() < 0.3:
        parts.append(narrator.pick("Nothing else moves.", "The rest of the scene stays the same.",
                                   "Nothing else happens."))
    return " ".join(parts)


def _still(narrator: Narrator, things: list[Mover]) -> list[str]:
    if len(things) > 1 and narrator.rng.random() < 0.4:
        return [f"{capital(joined([narrator.some((thing,)) for thing in things]))} "
                f"{narrator.pick('do not move', 'stay still', 'remain still')}."]
    return [narrator.pick(f"{capital(narrator.some((thing,)))} {narrator.motion(thing)}.",
                          f"There is also {narrator.some((thing,))} that {narrator.motion(thing)}.",
                          f"{capital(narrator.some((thing,)))} can be seen as well, and it {narrator.motion(thing)}.")
            for thing in things]


def _ending(narrator: Narrator, thing: Mover) -> str:
    first, last = ENDS[thing.motion]
    the = narrator.the((thing,))
    size = thing.motion in ("closer", "away")
    return narrator.pick(f"{capital(the)} {'looks' if size else 'is'} {first} at first and {last} at the end.",
                         f"At the end, {the} {'looks' if size else 'is'} {last}.",
                         f"{capital(the)} {'looks' if size else 'starts'} {first} at the beginning and "
                         f"{'looks' if size else 'ends'} {last}.")
