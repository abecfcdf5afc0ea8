"""Answers that take a step of reasoning from what is seen in a scene: why, what for, what next.

It states as fact only what the scene holds; whatever goes beyond is worded as likely.
"""

from random import Random

from specflash.data import sentences
from specflash.data.scenes import Scene
from specflash.data.words import ANIMALS, Group, Speaker, be, capital, of_several

Exchange = tuple[str, str]

NEXT = {
    ("dog", "running"): ("keep running until it gets tired", "slow down and look around"),
    ("dog", "jumping"): ("land on its feet and jump again", "come down and run off"),
    ("dog", "sitting"): ("get up and walk away", "stay where it is and keep watching"),
    ("dog", "sleeping"): ("go on sleeping for a while", "wake up and stretch"),
    ("cat", "walking"): ("look for a quiet spot and sit down", "keep exploring its surroundings"),
    ("cat", "sitting"): ("start to clean its fur", "stay seated and keep watching"),
    ("cat", "sleeping"): ("go on sleeping for a while", "wake up and stretch"),
    ("bird", "flying"): ("keep flying and look for a place to land", "disappear from view soon"),
    ("bird", "standing"): ("spread its wings and fly away", "look for something to eat"),
    ("fish", "jumping"): ("fall back into the water with a splash",),
    ("fish", "swimming"): ("go on swimming in circles", "come up to look for food"),
    ("person", "running"): ("slow down and catch a breath", "reach the other side soon"),
    ("person", "waving"): ("lower the arm and walk on", "start a conversation with someone"),
    ("person", "jumping"): ("land on both feet and jump again",),
    ("person", "standing"): ("walk on after a while", "keep looking around"),
    ("car", "driving"): ("move out of view in a moment", "slow down and stop"),
    ("car", "parked"): ("stay where it is until somebody drives it away",),
    ("boat", "sailing"): ("sail on across the sea", "return to the shore later"),
    ("ball", "bouncing"): ("come down and bounce again", "roll away and come to rest"),
    ("kite", "flying"): ("rise even higher with the wind", "come down when the wind gets weaker"),
    ("cup", "steaming"): ("cool down slowly",),
}
WHY = {
    ("dog", "running"): "Its legs are stretched out wide and lines behind it show the speed, "
                        "so it may be playing or chasing something",
    ("dog", "jumping"): "It is above its own shadow, so it is clearly in the air, and it probably feels playful",
    ("dog", "sleeping"): "It lies flat with its eyes closed, which is how a tired animal rests",
    ("cat", "sleeping"): "It lies curled up with closed eyes, which shows that it feels safe and tired",
    ("person", "jumping"): "Both arms are raised and the feet are off the ground, which usually means joy",
    ("person", "waving"): "One arm is raised high, which is a common way to greet somebody or to get attention",
    ("person", "running"): "The arms and legs are spread in mid-stride, "
                           "so the person may be in a hurry or doing sports",
    ("car", "driving"): "Lines and a puff of dust behind it show that it is moving",
    ("ball", "bouncing"): "There is a shadow below it, so it must be in the air at this moment",
    ("cup", "steaming"): "Steam rises from it, so the drink inside must be hot",
    ("lamp", "shining"): "A cone of light comes out of its shade, so it must be switched on",
    ("house", "smoking"): "Smoke comes out of its chimney, so there is probably a fire inside and somebody is at home",
    ("bird", "flying"): "Its wings are spread and its feet touch nothing, so it is in flight",
    ("kite", "flying"): "A kite stays up only in moving air, so there must be some wind",
    ("boat", "sailing"): "Its sails are up and there are waves at its sides, so the wind is probably moving it along",
    ("fish", "jumping"): "Drops of water fly around it, so it has just left the water",
}
CLOTHING = {
    "sunny": "light clothes and something against the sun", "cloudy": "a light jacket in case it starts to rain",
    "rainy": "a raincoat or an umbrella", "snowing": "a thick coat, gloves and a hat",
    "sunset": "a light jacket, because it gets cooler after sunset", "night": "a warm jacket, because nights are cool",
}
ACTIVITY = {
    "beach": ("swim, build a sandcastle or take a walk along the shore", "the sand and the sea"),
    "park": ("have a picnic, play games or take a walk", "the grass and the path"),
    "street": ("go shopping, take a walk or travel to another place", "the road and the sidewalk"),
    "kitchen": ("cook a meal, drink something or have a chat", "the counter and the tiles"),
    "snowy field": ("build a snowman, throw snowballs or go skiing", "the snow and the hills"),
    "desert": ("go for a hike, ride over the dunes or watch the sky", "the sand and the dunes"),
}
TIME = {"sunny": "daytime", "cloudy": "daytime", "rainy": "daytime", "snowing": "daytime",
        "sunset": "evening", "night": "night"}


def reasoning(scene: Scene, rng: Random) -> Exchange:
    """One question that asks why, what for or what next, answered from what is seen."""
    speaker = Speaker(scene, rng)
    question, answer = rng.choice(reasons(speaker))
    tails = [sentences.total(speaker), sentences.colours(speaker)]
    if not any(told in answer for told in sentences.SETTING[scene.place]):
        tails.append(sentences.setting(speaker))
    if not any(f" {told}" in answer for words in sentences.MOOD.values() for told in words):
        tails.append(sentences.mood(speaker))
    return question, answer if len(answer.split()) > 45 else f"{answer} {speaker.pick(*tails)}"


def reasons(speaker: Speaker) -> list[Exchange]:
    """Every question this scene gives reason for, with its answer."""
    found = [_activity(speaker), _time(speaker), _guess_place(speaker)]
    if speaker.scene.place != "kitchen":
        found.append(_clothing(speaker))
    for group in speaker.scene.groups:
        key = (group[0].kind, group[0].action)
        if key in NEXT:
            found += [_next(speaker, group)] * 2
        if key in WHY and len(group) == 1:
            found += [_why(speaker, group)] * 2
    if any(group[0].kind in ANIMALS + ("person",) for group in speaker.scene.groups):
        found.append(_alive(speaker))
    return found


def _next(speaker: Speaker, group: Group) -> Exchange:
    the, is_ = speaker.the(group), be(group)
    future = of_several(speaker.pick(*NEXT[group[0].kind, group[0].action]), group)
    question = speaker.pick(f"What might happen next with {the}?", f"What will {the} probably do next?",
                            f"What could {the} do in the next moment?")
    if group[0].kind in ("cup", "kite", "ball", "car", "boat"):
        question = speaker.pick(f"What might happen next with {the}?", f"What will probably happen to {the} next?")
    answer = speaker.pick(
        f"At the moment, {the} {is_} {speaker.doing(group)} {speaker.where(group)}. Next, {the} might {future}.",
        f"Since {the} {is_} {speaker.doing(group)}, it is likely that {the} will {future}.",
        f"In the picture, {the} {is_} {speaker.doing(group)}. In the next moment, {the} could {future}.")
    return question, f"{answer} {_company(speaker, group)}"


def _company(speaker: Speaker, group: Group) -> str:
    """One sentence about the others in the picture."""
    others = [other for other in speaker.scene.groups if other is not group]
    if not others:
        return sentences.sky(speaker)
    other = others[0]
    return speaker.pick(f"Meanwhile, {speaker.the(other)} {be(other)} {speaker.doing(other)} {speaker.where(other)}.",
                        f"{capital(speaker.the(other))}, on the other hand, {be(other)} {speaker.doing(other)}.")


def _why(speaker: Speaker, group: Group) -> Exchange:
    the, doing = speaker.the(group), group[0].action
    state = {"off": "switched off"}.get(doing, doing)
    question = speaker.pick(f"How can one tell that {the} is {state}?", f"What suggests that {the} is {state}?",
                            f"Why does it look as if {the} is {state}?")
    reason = WHY[group[0].kind, doing]
    return question, speaker.pick(
        f"{reason}. {capital(the)} is {speaker.where(group)}. {_company(speaker, group)}",
        f"The picture gives a clear hint. {reason}. {_company(speaker, group)}")


def _clothing(speaker: Speaker) -> Exchange:
    question = speaker.pick("What should somebody wear in this place?",
                            "What clothes would suit the weather in this image?",
                            "What would you recommend to wear for a visit here?")
    wear = CLOTHING[speaker.scene.weather]
    if speaker.scene.place == "snowy field":
        wear = "a thick coat, gloves and a hat, because there is snow on the ground"
    return question, speaker.pick(
        f"{sentences.sky(speaker)} Therefore a visitor should wear {wear}. {sentences.setting(speaker)}",
        f"I would recommend {wear}. {sentences.sky(speaker)} {sentences.setting(speaker)}")


def _activity(speaker: Speaker) -> Exchange:
    what, features = ACTIVITY[speaker.scene.place]
    question = speaker.pick("What could people do in this place?", "What activities would fit this place?",
                            "What might a visitor enjoy here?")
    return question, speaker.pick(
        f"The scene is {speaker.place_in()}, so people could {what}. "
        f"The picture also shows {sentences.listing(speaker)}.",
        f"Given {features}, people could {what}. {sentences.sky(speaker)} "
        f"In the picture one can see {sentences.listing(speaker)}.")


def _time(speaker: Speaker) -> Exchange:
    time = TIME[speaker.scene.weather]
    question = speaker.pick("What time of day is it most likely?",
                            "Is it day or night in this image, and how can you tell?",
                            "What does the light say about the time of day?")
    return question, speaker.pick(
        f"It is most likely {time}. {sentences.sky(speaker)} {sentences.setting(speaker)}",
        f"{sentences.sky(speaker)} This suggests that it is {time}. {_scene_of(speaker)}")


def _scene_of(speaker: Speaker) -> str:
    return f"The scene shows {sentences.listing(speaker)} {speaker.place_in()}."


def _guess_place(speaker: Speaker) -> Exchange:
    features = ACTIVITY[speaker.scene.place][1]
    question = speaker.pick("Where could this picture have been taken, and what makes you think so?",
                            "What hints show where the scene takes place?",
                            "How can you tell what kind of place this is?")
    return question, speaker.pick(
        f"The scene is most likely {speaker.place_in()}, as {features} suggest. {sentences.setting(speaker)} "
        f"There one can see {sentences.listing(speaker)}.",
        f"{sentences.setting(speaker)} These hints suggest {speaker.place()}. {_scene_of(speaker)}")


def _alive(speaker: Speaker) -> Exchange:
    living = [group for group in speaker.scene.groups if group[0].kind in ANIMALS + ("person",)]
    calm = all(group[0].action in ("sleeping", "sitting", "standing", "swimming") for group in living)
    question = speaker.pick("Is the scene calm or lively?", "Would you call this scene calm or busy, and why?",
                            "How lively is this scene?")
    told = " ".join(f"{capital(speaker.the(group))} {be(group)} {speaker.doing(group)}." for group in living[:3])
    return question, speaker.pick(
        f"The scene is rather {'calm' if calm else 'lively'}. {told} {sentences.mood(speaker)}",
        f"{told} This makes the scene {'calm and quiet' if calm else 'lively and full of motion'}. "
        f"{sentences.setting(speaker)}")
