"""What the language says is true of the scene, and said in many ways."""

import re
from random import Random

import pytest

from specflash.data.language import caption, conversation, detail, reasoning
from specflash.data.scenes import COLOUR_NAMES, relation
from specflash.data.scenes import draw_scene as draw
from specflash.data.words import ANIMALS, DOING, NOUNS, NUMBERS, WEATHER, YOUNG, article, joined, of_several

SCENES = [draw(seed) for seed in range(150)]
KIND_OF = {word: kind for kind, forms in NOUNS.items() for word in (
    *(word for form in forms for word in form), *YOUNG.get(kind, ()))}
NOUN = "|".join(sorted(KIND_OF, key=len, reverse=True))
COLOUR = "|".join(COLOUR_NAMES)
SINGULAR = "|".join(one for forms in NOUNS.values() for one, several in forms if one != several)
MISTAKES = re.compile(r"\b[Aa] [aeiou](?!ne\b)|\b[Aa]n [^aeiou]|  |\.\.| [.,]|None|\bthe the\b")
ONE = rf"[Tt]he (?:(?:{COLOUR}) (?:{NOUN})|person in (?:{COLOUR}))"


def texts(scene) -> list[str]:
    """Everything the language says of a scene, one string an answer."""
    rng = Random(scene.seed)
    said = [caption(scene, rng) for _ in range(4)] + [detail(scene, rng)[1] for _ in range(2)]
    said += [answer for _ in range(2) for _, answer in conversation(scene, rng)]
    return said + [reasoning(scene, rng)[1] for _ in range(3)]


TEXTS = {scene.seed: texts(scene) for scene in SCENES}


def sentences(scene) -> list[str]:
    return [sentence for text in TEXTS[scene.seed] for sentence in re.findall(r"[^.]+\.", text)]


def the_one(scene, phrase: str):
    """The thing that "the red dog" or "the person in red" means."""
    words = phrase.lower().split()
    kind, colour = ("person", words[-1]) if words[1] == "person" else (KIND_OF[words[2]], words[1])
    [thing] = [thing for thing in scene.things if (thing.kind, thing.colour) == (kind, colour)]
    return thing


def test_the_words_follow_from_the_generator():
    scene = SCENES[3]
    assert texts(scene) == texts(draw(3))
    assert detail(scene, Random(1)) != detail(scene, Random(2))


def test_relations_told_are_true():
    told = 0
    names = {"to the left of": "left of", "on the left of": "left of", "to the right of": "right of",
             "on the right of": "right of", "above": "above", "higher up than": "above", "behind": "above",
             "farther back than": "above", "below": "below", "lower down than": "below", "in front of": "below",
             "closer to us than": "below"}
    pattern = rf"({ONE}) (?:is|can be found) ({'|'.join(names)}) ({ONE})\."
    for scene in SCENES:
        for one, words, other in re.findall(pattern, " ".join(TEXTS[scene.seed])):
            assert relation(the_one(scene, one), the_one(scene, other)) == names[words]
            told += 1
    assert told > 60


def test_relations_seen_from_the_other_are_true():
    names = {"on the left": "left of", "on the right": "right of", "higher up": "above", "farther back": "above",
             "lower down": "below", "in front": "below"}
    told = 0
    for scene in SCENES:
        pattern = rf"Seen from ({ONE}), ({ONE}) is ({'|'.join(names)})\."
        for other, one, words in re.findall(pattern, " ".join(TEXTS[scene.seed])):
            assert relation(the_one(scene, one), the_one(scene, other)) == names[words]
            told += 1
    assert told > 20


def test_counts_told_are_true():
    told = 0
    for scene in SCENES:
        for number, noun in re.findall(rf"There (?:is|are) (\w+) ({NOUN}) in the image", " ".join(TEXTS[scene.seed])):
            there = sum(thing.kind == KIND_OF[noun] for thing in scene.things)
            assert NUMBERS.index(number) == there
            told += 1
        for number in re.findall(r"(\w+) (?:things|objects) (?:in|can)", " ".join(TEXTS[scene.seed])):
            assert NUMBERS.index(number.lower()) == len(scene.things)
        for number in re.findall(r"(\w+) animals in total", " ".join(TEXTS[scene.seed])):
            assert NUMBERS.index(number) == sum(thing.kind in ANIMALS for thing in scene.things)
    assert told > 30


def test_numbers_before_things_are_true():
    pattern = rf"\b(two|three|four|five) (?:(?:small|little|large|big) )?({COLOUR}) ({NOUN})\b"
    told = 0
    for scene in SCENES:
        for number, colour, noun in re.findall(pattern, " ".join(TEXTS[scene.seed]).lower()):
            there = [thing for thing in scene.things if (thing.kind, thing.colour) == (KIND_OF[noun], colour)]
            assert len(there) == NUMBERS.index(number)
            told += 1
    assert told > 200


def test_sizes_told_are_true():
    sizes = {"small": "small", "little": "small", "large": "large", "big": "large"}
    told = 0
    for scene in SCENES:
        for size, colour, noun in re.findall(rf"(small|little|large|big) ({COLOUR}) ({NOUN})\b",
                                             " ".join(TEXTS[scene.seed]).lower()):
            assert (KIND_OF[noun], colour, sizes[size]) in {
                (thing.kind, thing.colour, thing.size) for thing in scene.things}
            told += 1
    assert told > 500


@pytest.mark.parametrize(("words", "kind", "action"), [
    ("asleep", "dog cat", "sleeping"), ("bouncing", "ball", "bouncing"), ("unlit", "lamp", "off"),
    ("waving", "person", "waving"), ("parked", "car", "parked"), ("steaming", "cup", "steaming"),
    ("chimney", "house", "smoking"), ("lying open", "book", "open"), ("sailing", "boat", "sailing"),
    ("bowl", "fish", "swimming"), ("soaring", "bird", "flying"), ("switched off", "lamp", "off"),
])
def test_actions_told_are_true(words, kind, action):
    speaking = [scene for scene in SCENES if words in " ".join(TEXTS[scene.seed])]
    assert speaking
    assert all(any(thing.kind in kind.split() and thing.action == action for thing in scene.things)
               for scene in speaking)


def test_the_weather_told_is_the_scenes():
    signs = {"snowflakes": "snowing", "rain is falling": "rainy", "the sun is setting": "sunset",
             "crescent moon": "night", "clear blue sky": "sunny", "gray clouds": "cloudy"}
    for scene in SCENES:
        said = " ".join(TEXTS[scene.seed]).lower()
        assert {weather for words, weather in signs.items() if words in said} <= {scene.weather}


def test_every_state_of_every_kind_has_words():
    assert {(thing.kind, thing.action) for seed in range(400) for thing in draw(seed).things} == set(DOING)
    assert {draw(seed).weather for seed in range(100)} == set(WEATHER)


def test_details_are_long_and_captions_short():
    for scene in SCENES:
        answer = detail(scene, Random(scene.seed))[1]
        assert 60 <= len(answer.split()) <= 120
        assert 4 <= len(re.findall(r"\.(?: |$)", answer)) <= 10
        assert len(caption(scene, Random(scene.seed)).split()) <= 60


def test_conversations_have_two_to_four_turns_with_different_questions():
    lengths = set()
    for scene in SCENES:
        turns = conversation(scene, Random(scene.seed))
        lengths.add(len(turns))
        assert len({question for question, _ in turns}) == len(turns)
        assert all(question.endswith("?") and answer.endswith(".") for question, answer in turns)
    assert lengths == {2, 3, 4}


def test_reasonings_take_two_sentences_or_more():
    for scene in SCENES:
        question, answer = reasoning(scene, Random(scene.seed))
        assert question.endswith("?")
        assert 2 <= len(re.findall(r"\.(?: |$)", answer)) <= 7


def test_wording_is_rich():
    frames = {re.sub(rf"\b(?:{NOUN}|{COLOUR})\b", "…", sentence) for scene in SCENES for sentence in sentences(scene)}
    assert len(frames) > 1500
    assert len({detail(scene, Random(scene.seed))[0] for scene in SCENES}) >= 12


def test_sentences_are_well_formed():
    for scene in SCENES:
        for text in TEXTS[scene.seed]:
            assert text[0].isupper()
            assert text.endswith(".")
            assert not MISTAKES.search(text), text
            assert not re.search(rf"\b(?:two|three|four|five) (?:(?:small|little|large|big) )?(?:{COLOUR} )?"
                                 rf"(?:{SINGULAR})\b", text), text


def test_phrases():
    assert article("orange cat") == "an orange cat"
    assert article("red cat") == "a red cat"
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert of_several("land on its feet and jump", [None, None]) == "land on their feet and jump"
    assert of_several("land on its feet and jump", [None]) == "land on its feet and jump"
