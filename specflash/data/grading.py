"""How well a text describes a drawn scene, against the scene's exact truth. It knows no model.

A text's mentions are compared as sets: which kinds it names, and which (colour, kind) pairs. Synonyms
count; "no dogs" is no mention of a dog.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from specflash.data.scenes import COLOUR_NAMES
from specflash.data.words import NOUNS, YOUNG

SYNONYMS: dict[str, tuple[str, ...]] = {
    "dog": ("pup", "pups", "hound"), "person": ("persons", "man", "men", "woman", "women", "boy", "girl", "child",
                                                "children"),
    "car": ("automobile", "automobiles", "taxi"), "boat": ("ship", "ships"), "house": ("cabin", "cabins"),
    "cup": ("teacup", "teacups"), "flower": ("blossom", "blossoms"),
}
WORDS: dict[str, str] = {
    word: kind for kind, forms in NOUNS.items()
    for word in (*(word for form in forms for word in form), *YOUNG.get(kind, ()), *SYNONYMS.get(kind, ()))}
COLOURS = {name: name for name in COLOUR_NAMES} | {"violet": "purple", "gray": "gray", "grey": "gray"}
PLACE_WORDS = {"beach": "beach", "park": "park", "street": "street", "kitchen": "kitchen", "snowy": "snowy field",
               "snow": "snowy field", "snow-covered": "snowy field", "desert": "desert"}
NEGATIONS = ("no", "any", "without", "not")
ADJECTIVES = 3  # how many words before a noun may describe it


class Truth(Protocol):
    """A `Scene`, or what `drawn.read_truth` gives: a place, and things with `kind` and `colour`."""

    place: str
    things: Iterable


@dataclass(frozen=True)
class Tally:
    """True positives, false positives and false negatives; they add up over texts."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.right + other.right, self.wrong + other.wrong, self.missed + other.missed)

    @property
    def f1(self) -> float:
        """2·right / (2·right + wrong + missed); 1 where there was nothing to find and nothing was said."""
        whole = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / whole if whole else 1.0


@dataclass(frozen=True)
class Grade:
    """objects: things by kind; colours: things by (colour, kind); place_right: so is the first place named."""

    objects: Tally
    colours: Tally
    place_right: bool


@dataclass(frozen=True)
class Scores:
    """Over many texts: micro-averaged F1 of objects and of coloured objects, share of right places."""

    objects: float
    colours: float
    place: float


@dataclass
class Mentions:
    kinds: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    place: str | None = None


def mentions(text: str) -> Mentions:
    """What a text says there is."""
    found = Mentions()
    for sentence in re.split(r"[.!?]\s+|[.!?]$", text.lower()):
        words = re.findall(r"[a-z]+(?:-[a-z]+)*|,", sentence)
        for position, word in enumerate(words):
            if word in PLACE_WORDS and found.place is None:
                found.place = PLACE_WORDS[word]
            if word in WORDS:
                _mention(found, WORDS[word], words, position)
    return found


def _mention(found: Mentions, kind: str, words: list[str], position: int) -> None:
    before = words[max(0, position - ADJECTIVES):position]
    if any(word in NEGATIONS for word in before):
        return
    found.kinds.add(kind)
    own = [COLOURS[word] for word in _since_last_noun(before) if word in COLOURS]
    colour = own[-1] if own else _after(words, position)
    if colour:
        found.pairs.add((colour, kind))


def _since_last_noun(before: list[str]) -> list[str]:
    """The words that can only belong to the coming noun."""
    breaks = [index for index, word in enumerate(before) if word in WORDS or word in (",", "and", "in", "is", "are")]
    return before[breaks[-1] + 1:] if breaks else before


def _after(words: list[str], position: int) -> str | None:
    """The colour in "… in red", "… wearing red clothes", "… dressed in red", "… is red"."""
    rest = words[position + 1:position + 5]
    while rest and rest[0] in ("in", "wearing", "dressed", "is", "are", "wears", "a", "an"):
        rest = rest[1:]
        if rest and rest[0] in COLOURS:
            return COLOURS[rest[0]]
    return None


def grade(text: str, truth: Truth) -> Grade:
    """Compare a text with what is in the picture."""
    said = mentions(text)
    return Grade(objects=tally(said.kinds, {thing.kind for thing in truth.things}),
                 colours=tally(said.pairs, {(thing.colour, thing.kind) for thing in truth.things}),
                 place_right=said.place == truth.place)


def tally(said: set, there: set) -> Tally:
    return Tally(right=len(said & there), wrong=len(said - there), missed=len(there - said))


def f1(grades: Iterable[Grade]) -> Scores:
    """Scores over all texts. Raises ValueError without any."""
    grades = list(grades)
    if not grades:
        raise ValueError("no grades to average")
    return Scores(objects=sum((grade.objects for grade in grades), Tally()).f1,
                  colours=sum((grade.colours for grade in grades), Tally()).f1,
                  place=sum(grade.place_right for grade in grades) / len(grades))
