"""Several short questions about a scene with true answers. It reasons about nothing: see `reasons.py`."""

from collections.abc import Callable
from random import Random

from specflash.data import sentences
from specflash.data.scenes import Scene
from specflash.data.words import ANIMALS, KINDS_WORDS, NUMBERS, Group, Speaker, be, capital, joined

Exchange = tuple[str, str]


def conversation(scene: Scene, rng: Random) -> list[Exchange]:
    """2 to 4 turns, each about something else; a general one comes first."""
    speaker = Speaker(scene, rng)
    makers = list(TURNS)
    rng.shuffle(makers)
    turns = [overview(speaker)] if rng.random() < 0.6 else []
    wanted = rng.randint(2, 4)
    for maker in makers:
        turn = maker(speaker, rng.choice(scene.groups))
        if turn and len(turns) < wanted:
            turns.append(turn)
    return turns


def overview(speaker: Speaker) -> Exchange:
    question = speaker.pick("What can be seen in the image?", "What is shown in the picture?",
                            "What are the main objects in this image?", "What does the image show?",
                            "Which things are visible in the picture?")
    listing = sentences.listing(speaker)
    answer = speaker.pick(f"The image shows {listing} {speaker.place_in()}.",
                          f"In the picture there {be(speaker.scene.groups[0])} {listing}.",
                          f"The main objects are {listing}, all {speaker.place_in()}.",
                          f"One can see {listing} {speaker.place_in()} {speaker.weather()}.")
    return question, answer


def _count(speaker: Speaker, group: Group) -> Exchange:
    kind = group[0].kind
    same = [other for other in speaker.scene.groups if other[0].kind == kind]
    number = sum(map(len, same))
    question = speaker.pick(f"How many {sentences.plural(kind)} are there in the image?",
                            f"How many {sentences.plural(kind)} can you see?",
                            f"What is the number of {sentences.plural(kind)} in the picture?")
    listed = joined([speaker.some(other, 0) for other in same])
    counted = f"{NUMBERS[number]} {sentences.plural(kind) if number > 1 else KINDS_WORDS[kind]}"
    answer = f"There {'is' if number == 1 else 'are'} {counted} in the image"
    if len(same) > 1:
        return question, f"{answer}: {listed}."
    more = f"namely {listed}" if number > 1 else f"and {speaker.the(group)} is {speaker.where(group)}"
    return question, speaker.pick(f"{answer}.", f"{answer}, {more}.")


def _colour(speaker: Speaker, group: Group) -> Exchange | None:
    kind = group[0].kind
    if sum(other[0].kind == kind for other in speaker.scene.groups) > 1:
        return None
    is_, noun = be(group), KINDS_WORDS[kind] if len(group) == 1 else sentences.plural(kind)
    if kind == "person":
        verb = "is the person" if len(group) == 1 else "are the people"
        return (speaker.pick(f"What color {verb} wearing?", f"What color of clothes {verb} wearing?"),
                speaker.pick(f"The {noun} {is_} wearing {group[0].colour} clothes.",
                             f"The {noun} {is_} dressed in {group[0].colour}."))
    return (speaker.pick(f"What color {is_} the {noun}?", f"What is the color of the {noun} in the image?",
                         f"Which color {'does' if len(group) == 1 else 'do'} the {noun} have?"),
            speaker.pick(f"The {noun} {is_} {group[0].colour}.", f"The {noun} in the image {is_} {group[0].colour}.",
                         f"{'It is' if len(group) == 1 else 'They are'} {group[0].colour}."))


def _doing(speaker: Speaker, group: Group) -> Exchange | None:
    if group[0].action is None:
        return None
    the, is_ = speaker.the(group), be(group)
    return (speaker.pick(f"What {is_} {the} doing?", f"What is happening with {the}?",
                         f"What can you say about {the}?"),
            speaker.pick(f"{capital(the)} {is_} {speaker.doing(group)} {speaker.where(group)}.",
                         f"{capital(the)} {is_} {speaker.doing(group)}."))


def _where(speaker: Speaker, group: Group) -> Exchange:
    the, is_ = speaker.the(group), be(group)
    return (speaker.pick(f"Where {is_} {the}?", f"Where in the image {is_} {the} located?",
                         f"In which part of the picture {is_} {the}?"),
            speaker.pick(f"{capital(the)} {is_} {speaker.spot(group)} {speaker.side(group)}.",
                         f"{capital(the)} {is_} {speaker.doing(group)} {speaker.spot(group)} {speaker.side(group)}.",
                         f"{capital(the)} can be found {speaker.side(group)} of the picture, {speaker.spot(group)}."
                         if len(group) == 1 else f"{capital(the)} are {speaker.spot(group)}, {speaker.side(group)}."))


def _place(speaker: Speaker, group: Group) -> Exchange:
    return (speaker.pick("Where does the scene take place?", "What is the setting of the image?",
                         "What kind of place is shown?"),
            speaker.pick(f"The scene takes place {speaker.place_in()}. {sentences.setting(speaker)}",
                         f"The setting is {speaker.place()}.",
                         f"The image shows {speaker.place()}. {sentences.sky(speaker)}"))


def _weather(speaker: Speaker, group: Group) -> Exchange:
    question = speaker.pick("What is the weather like?", "What can be said about the weather and the time of day?",
                            "How does the sky look?")
    return question, sentences.sky(speaker)


def _presence(speaker: Speaker, group: Group) -> Exchange:
    present = [other[0].kind for other in speaker.scene.groups]
    if speaker.rng.random() < 0.5:
        kind = group[0].kind
        same = [other for other in speaker.scene.groups if other[0].kind == kind]
        listed = joined([speaker.some(other, 0.4) for other in same])
        is_ = "is" if sum(map(len, same[:1])) == 1 else "are"
        return (f"{speaker.pick('Are there any', 'Can you see any')} {sentences.plural(kind)} in the image?",
                speaker.pick(f"Yes, there {is_} {listed}.", f"Yes, the image shows {listed}."))
    kind = speaker.rng.choice([kind for kind in KINDS_WORDS if kind not in present])
    return (f"{speaker.pick('Are there any', 'Can you see any')} {sentences.plural(kind)} in the image?",
            speaker.pick(f"No, there are no {sentences.plural(kind)} in the image.",
                         f"No, the image shows {sentences.listing(speaker)}, but no {sentences.plural(kind)}."))


def _animals(speaker: Speaker, group: Group) -> Exchange:
    found = [other for other in speaker.scene.groups if other[0].kind in ANIMALS]
    question = speaker.pick("Are there any animals in the image?", "Which animals can be seen?")
    if not found:
        return question, speaker.pick("There are no animals in the image.", "No animals can be seen in the picture.")
    verb = be(found[0])
    listed = joined([speaker.some(other, 0.2) for other in found])
    return question, f"{'Yes, there' if question.startswith('Are') else 'There'} {verb} {listed}."


def _relation(speaker: Speaker, group: Group) -> Exchange | None:
    for other in speaker.scene.groups:
        if other is not group and (sentence := sentences.between(speaker, group, other)):
            return (f"Where is {speaker.the(group)} in relation to {speaker.the(other)}?", sentence)
    return None


TURNS: tuple[Callable[[Speaker, Group], Exchange | None], ...] = (
    _count, _colour, _doing, _where, _place, _weather, _presence, _animals, _relation)
