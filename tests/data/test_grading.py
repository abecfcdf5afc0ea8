"""Grades of texts against the drawn truth, by exact values."""

from random import Random
from types import SimpleNamespace

import pytest

from specflash.data.grading import Scores, Tally, f1, grade, mentions
from specflash.data.language import caption, detail
from specflash.data.scenes import COLOUR_NAMES, draw_scene

SCENES = [draw_scene(seed) for seed in range(150)]


def truth(place, *things):
    return SimpleNamespace(place=place, things=[SimpleNamespace(colour=colour, kind=kind) for colour, kind in things])


def test_the_languages_own_details_are_graded_perfect():
    grades = [grade(detail(scene, Random(scene.seed))[1], scene) for scene in SCENES]
    assert f1(grades) == Scores(objects=1.0, colours=1.0, place=1.0)


def test_captions_say_nothing_wrong():
    for scene in SCENES:
        said = grade(caption(scene, Random(scene.seed)), scene)
        assert said.objects.wrong == said.colours.wrong == 0
        assert said.place_right


def test_swapped_colours_cost_colours_but_not_objects():
    turned = dict(zip(COLOUR_NAMES, COLOUR_NAMES[3:] + COLOUR_NAMES[:3], strict=True))
    grades = []
    for scene in SCENES:
        words = detail(scene, Random(scene.seed))[1].split(" ")
        grades.append(grade(" ".join(turned.get(word.lower(), word) for word in words), scene))
    scores = f1(grades)
    assert scores.objects == 1.0
    assert scores.colours < 0.3


def test_tallies_by_hand():
    there = truth("park", ("red", "dog"), ("blue", "ball"), ("blue", "ball"), ("green", "tree"))
    got = grade("A red puppy runs in a park near a yellow ball and a black cat.", there)
    assert got.objects == Tally(right=2, wrong=1, missed=1)  # dog, ball | cat | tree
    assert got.colours == Tally(right=1, wrong=2, missed=2)  # red dog | yellow ball, black cat | blue ball, green tree
    assert got.place_right
    assert got.objects.f1 == pytest.approx(4 / 6)
    assert got.colours.f1 == pytest.approx(2 / 6)


def test_scores_are_micro_averages():
    there = truth("beach", ("red", "dog"))
    grades = [grade("A red dog on a beach.", there), grade("A blue dog and a red cat in a desert.", there)]
    # objects: 2 right, 1 wrong; colours: 1 right, 2 wrong, 1 missed; place: one of two
    assert f1(grades) == Scores(objects=4 / 5, colours=2 / 5, place=0.5)


@pytest.mark.parametrize(("text", "pairs"), [
    ("The dog is red.", {("red", "dog")}),
    ("Two people dressed in blue wave.", {("blue", "person")}),
    ("A woman wearing a green coat.", {("green", "person")}),
    ("A person in red and a white kitten.", {("red", "person"), ("white", "cat")}),
    ("A violet mug stands here.", {("purple", "cup")}),
    ("A cottage, yellow birds.", {("yellow", "bird")}),
    ("There are no red dogs, but an orange cat.", {("orange", "cat")}),
    ("The sky is blue and the sea is green.", set()),
])
def test_colours_belong_to_their_nouns(text, pairs):
    assert mentions(text).pairs == pairs


def test_a_denied_thing_is_not_mentioned():
    assert mentions("No people can be seen. There are no dogs.").kinds == set()


def test_an_empty_text_misses_everything():
    got = grade("", truth("park", ("red", "dog")))
    assert (got.objects, got.colours, got.place_right) == (Tally(missed=1), Tally(missed=1), False)


def test_no_grades_are_an_error():
    with pytest.raises(ValueError, match="no grades"):
        f1([])
