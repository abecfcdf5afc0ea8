"""What a text says of a clip, word by word, against the truth."""

from types import SimpleNamespace

import pytest

from specflash.data.clip_grading import clip_f1, grade_clip, motions
from specflash.data.grading import Tally


@pytest.mark.parametrize(("text", "found"), [
    ("A red dog runs to the left.", {("left", "dog")}),
    ("From left to right, a red dog runs.", {("right", "dog")}),
    ("A dog runs to the left and a car drives from left to right.", {("left", "dog"), ("right", "car")}),
    ("A blue ball is bouncing up and down.", {("bouncing", "ball")}),
    ("A kite rises higher and higher. It is yellow.", {("up", "kite")}),
    ("A bird appears. It glides downward.", {("down", "bird")}),
    ("A person comes closer while a cup stays still.", {("closer", "person"), ("still", "cup")}),
    ("A red dog and a tree do not move.", {("still", "dog"), ("still", "tree")}),
    ("A car drives away into the distance.", {("away", "car")}),
    ("The dog is on the right side. A lower flower blooms.", {("down", "flower")}),
    ("Nothing happens.", set()),
])
def test_motions_belong_to_the_thing_they_are_said_of(text, found):
    assert motions(text) == found


def test_scores_count_what_is_right_wrong_and_missed():
    truth = SimpleNamespace(place="park", things=[SimpleNamespace(kind="dog", colour="red", motion="left"),
                                                  SimpleNamespace(kind="tree", colour="green", motion="still")])
    grade = grade_clip("A red dog runs to the right. A ball stays still.", truth)
    assert grade.objects == Tally(right=1, wrong=1, missed=1)
    assert grade.colours == Tally(right=1, wrong=0, missed=1)
    assert grade.motions == Tally(right=0, wrong=2, missed=2)
    scores = clip_f1([grade, grade_clip("A red dog runs to the left. A green tree stays still.", truth)])
    assert (scores.objects, scores.colours, scores.motions) == (0.75, 6 / 7, 0.5)
