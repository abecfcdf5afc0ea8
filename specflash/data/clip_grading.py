"""How well a text describes a drawn clip: objects, colours and motions, against its exact truth. It knows no model.

Like `grading.py`, it compares what a text mentions as sets; a motion is a (motion, kind) pair. Motion words
belong to the last thing named before them, or else to the first one after them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from specflash.data.grading import NEGATIONS, WORDS, Tally, Truth, mentions, tally

PATTERNS: dict[str, str] = {
    "bouncing": r"bounc\w+|up and down|hop(?:s|ping)",
    "right": r"left to (?:the )?right|to(?:wards?)? the right|rightwards?|(?:moves|moving) right",
    "left": r"right to (?:the )?left|to(?:wards?)? the left|leftwards?|(?:moves|moving) left",
    "up": r"upwards?|higher|up into|ris(?:es|ing)|climb(?:s|ing)|ascend\w+",
    "down": r"downwards?|lower|toward the ground|sink(?:s|ing)|descend\w+|fall(?:s|ing) down",
    "closer": r"towards? (?:the camera|us|the viewer)|closer|nearer|approach\w+",
    "away": r"away|into the distance|farther",
    "still": r"still|not move|in its place|motionless|stationary",
}
MOTION = re.compile(r"\b(?:" + "|".join(f"(?P<{motion}>{words})" for motion, words in PATTERNS.items()) + r")\b")
NOUN = re.compile(r"\b(?:" + "|".join(sorted(WORDS, key=len, reverse=True)) + r")\b")


@dataclass(frozen=True)
class ClipGrade:
    """objects: by kind; colours: by (colour, kind); motions: by (motion, kind)."""

    objects: Tally
    colours: Tally
    motions: Tally

    def __add__(self, other: "ClipGrade") -> "ClipGrade":
        return ClipGrade(self.objects + other.objects, self.colours + other.colours, self.motions + other.motions)


NOTHING = ClipGrade(Tally(), Tally(), Tally())


@dataclass(frozen=True)
class ClipScores:
    """Micro-averaged F1 over many texts."""

    objects: float
    colours: float
    motions: float


def motions(text: str) -> set[tuple[str, str]]:
    """The (motion, kind) pairs that a text tells of."""
    found: set[tuple[str, str]] = set()
    last = None
    for sentence in re.split(r"[.!?]\s+|[.!?]$", text.lower()):
        nouns = [(match.start(), WORDS[match[0]]) for match in NOUN.finditer(sentence)
                 if not _negated(sentence[:match.start()])]
        for match in MOTION.finditer(sentence):
            before = [kind for place, kind in nouns if place < match.start()]
            kinds = _together(sentence, nouns, match.start()) or before[-1:] or [kind for _, kind in nouns[:1]] or (
                [last] if last else [])
            found |= {(match.lastgroup, kind) for kind in kinds}
        last = nouns[0][1] if nouns else last
    return found


def _negated(before: str) -> bool:
    return any(word in NEGATIONS for word in before.split()[-3:])


def _together(sentence: str, nouns: list[tuple[int, str]], place: int) -> list[str]:
    """Several things of which the same is said: "a red dog and a tree stay still"."""
    several = re.search(r"\b(?:do|stay|remain|both|all)\b", sentence[:place])
    return [kind for start, kind in nouns if start < several.start()] if several else []


def grade_clip(text: str, truth: Truth) -> ClipGrade:
    """Compare a text with what is and happens in the clip. Things have `kind`, `colour` and `motion`."""
    said = mentions(text)
    return ClipGrade(objects=tally(said.kinds, {thing.kind for thing in truth.things}),
                     colours=tally(said.pairs, {(thing.colour, thing.kind) for thing in truth.things}),
                     motions=tally(motions(text), {(thing.motion, thing.kind) for thing in truth.things}))


def clip_f1(grades: Iterable[ClipGrade]) -> ClipScores:
    """Scores over all texts."""
    whole = sum(grades, NOTHING)
    return ClipScores(whole.objects.f1, whole.colours.f1, whole.motions.f1)
