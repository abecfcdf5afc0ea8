"""A scene in words: captions and the three kinds of LLaVA-Instruct answers.

Everything said is true of the scene; the wording follows from the generator that is given. Things
come in the scene's reading order. The parts are in `words.py`,
`sentences.py`, `dialogue.py` and `reasons.py`.
"""

from random import Random

from specflash.data import sentences
from specflash.data.dialogue import conversation
from specflash.data.reasons import reasoning
from specflash.data.scenes import Scene
from specflash.data.words import Group, Speaker, be, capital, joined

__all__ = ["caption", "conversation", "detail", "reasoning"]

DETAIL_QUESTIONS = (
    "Describe the following image.", "Provide a detailed description of the given image.",
    "Give an elaborate explanation of the image you see.", "Share a comprehensive rundown of the presented image.",
    "Offer a thorough analysis of the image.", "Explain the various aspects of the image before you.",
    "Clarify the contents of the displayed image with great detail.",
    "Characterize the image using a well-detailed description.",
    "Break down the elements of the image in a detailed manner.", "Walk through the important details of the image.",
    "Portray the image with a rich, descriptive narrative.", "Narrate the contents of the image with precision.",
    "Analyze the image in a comprehensive and detailed manner.",
    "Illustrate the image through a descriptive explanation.",
    "Examine the image closely and share its details.", "Write an exhaustive depiction of the given image.",
    "What do you see happening in this image?", "Can you describe the main features of this image for me?",
)


def caption(scene: Scene, rng: Random) -> str:
    """One or two short sentences, as in COCO."""
    speaker = Speaker(scene, rng)
    lead, *rest = scene.groups
    others = joined([speaker.some(group, 0.2) for group in rest]) if rest else ""
    place, weather = speaker.place_in(), speaker.maybe(0.5, " " + speaker.weather())
    acting = f"{speaker.some(lead)} {speaker.doing(lead)}"
    if not others:
        return speaker.pick(
            f"{capital(acting)} {speaker.where(lead)} {place}{weather}.",
            f"{capital(speaker.some(lead))} {be(lead)} {speaker.doing(lead)} {place}{weather}.",
            f"There {be(lead)} {acting} {place}{weather}.", f"A picture of {acting} {place}{weather}.")
    return speaker.pick(
        f"{capital(acting)} {place}{weather}, with {others} nearby.",
        f"{capital(acting)} {place}{weather} together with {others}.",
        f"{capital(place)}{weather}, there {be(lead)} {acting}, and also {others}.",
        f"{capital(speaker.place())} with {sentences.listing(speaker)}{weather}.",
        f"A picture of {sentences.listing(speaker)} {place}{weather}.",
        f"{capital(sentences.listing(speaker))} {place}{weather}.",
        f"{capital(speaker.some(lead))} {be(lead)} {speaker.doing(lead)} {place}{weather}. "
        f"{sentences.further(speaker, rest[0])}" + _tail(speaker, rest[1:]),
        f"{capital(speaker.weather())}, {speaker.some(lead)} {be(lead)} {speaker.doing(lead)} {place} near {others}.")


def _tail(speaker: Speaker, groups: tuple[Group, ...] | list[Group]) -> str:
    if not groups:
        return ""
    return f" {speaker.pick('Nearby', 'Close by', 'Not far away')} there {be(groups[0])} " + joined(
        [speaker.some(group, 0.2) for group in groups]) + "."


def detail(scene: Scene, rng: Random) -> tuple[str, str]:
    """A question and an answer of 4 to 9 sentences, at least 60 words: place and weather, every thing
    in reading order, then how they stand to each other and what lies around them."""
    speaker = Speaker(scene, rng)
    question = speaker.pick(*DETAIL_QUESTIONS)
    lead, *rest = scene.groups
    parts = [sentences.opening(speaker), sentences.first(speaker, lead)]
    parts += [sentences.further(speaker, group) for group in rest]
    known = sentences.relations(speaker)
    extras = [*rng.sample(known, min(2, len(known))), sentences.setting(speaker), sentences.sky(speaker)]
    spare = []
    for share, part in ((0.4, sentences.size_contrast(speaker)), (0.35, sentences.total(speaker)),
                        (0.3, sentences.colours(speaker)), (0.45, sentences.mood(speaker)),
                        (0, sentences.rest(speaker))):
        if part:
            (extras if rng.random() < share else spare).append(part)
    least = rng.randint(60, 80)
    for part in extras + spare:
        words = sum(len(text.split()) for text in parts)
        if words >= least or words + len(part.split()) > 118:
            break
        parts.append(part)
    return question, " ".join(parts)
