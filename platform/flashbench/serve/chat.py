"""A chat request -> the Order a replica answers. It knows no HTTP and no model.

How a conversation becomes a Sample:

* Messages alternate user, assistant, …, user. Neighbours of one role are one turn, joined by a
  blank line.
* System (and developer) messages come first, and are put before the first question with a blank
  line between. The chat templates of the LLaVA family have no system role; a text that works the
  same for every target is better than one that some templates drop.
* Pictures and clips belong to the first user turn, since a Sample's media stand before its first
  question. Several are kept in order. One in a later message is refused, not moved.
"""

import secrets
from collections.abc import Iterable
from itertools import groupby

from flashbench.serve.events import Order
from flashbench.serve.pictures import count_pixels, read_data_url
from flashbench.serve.refusal import Refusal
from flashbench.serve.schema import ChatRequest, Message, VideoUrl
from flashbench.settings import ServeSettings
from specflash.records import Clip, Medium, Sample, Turn, sample_id
from specflash.sampling import Sampling

INSTRUCTION_ROLES = ("system", "developer")


def read_order(request: ChatRequest, limits: ServeSettings) -> Order:
    """Raises Refusal for a conversation, a picture, a clip or a number that cannot be served."""
    sampling = read_sampling(request, limits)
    turns = read_turns(request.messages)
    media = read_media(request.messages, limits)
    return Order(Sample(sample_id(media, turns), media, turns, task="chat"), sampling, tuple(request.stop or ()),
                 whole=not request.stream)


def read_sampling(request: ChatRequest, limits: ServeSettings) -> Sampling:
    """Without a seed one is drawn; the answer's `speculative.seed` tells it."""
    seed = secrets.randbelow(2**31) if request.seed is None else request.seed
    return Sampling(temperature=1.0 if request.temperature is None else request.temperature,
                    top_k=max(request.top_k or 0, 0),
                    top_p=1.0 if request.top_p is None else request.top_p,
                    seed=seed, max_new_tokens=_max_new_tokens(request, limits.max_new_tokens),
                    ignore_eos=bool(request.ignore_eos))


def read_turns(messages: list[Message]) -> tuple[Turn, ...]:
    """Questions and answers in order; the last turn has no answer yet."""
    speaking = [message for message in messages if message.role not in INSTRUCTION_ROLES]
    if messages[-1].role != "user":
        raise Refusal(400, "the last message must have role `user`", f"messages.{len(messages) - 1}.role",
                      "invalid_conversation")
    if speaking[0].role != "user":
        where = f"messages.{messages.index(speaking[0])}.role"
        raise Refusal(400, "the first message after the system's must have role `user`", where,
                      "invalid_conversation")
    instructions = [text for place, message in enumerate(messages)
                    if message.role in INSTRUCTION_ROLES for text in _instruction(messages, place)]
    said = [_join(text for message in group for text in message.texts)
            for _, group in groupby(speaking, key=lambda message: message.role)]
    said[0] = _join([*instructions, said[0]])
    return tuple(Turn(question, answer) for question, answer in zip(said[::2], [*said[1::2], None], strict=True))


def read_media(messages: list[Message], limits: ServeSettings) -> tuple[Medium, ...]:
    """The encoded pictures and clips, within the limits on their number and on the pictures' pixels together."""
    _refuse_late_media(messages)
    places = [(f"messages.{place}.content", shown) for place, message in enumerate(messages) for shown in message.media]
    if len(places) > limits.max_pictures:
        raise Refusal(400, f"{len(places)} pictures and clips in one request; at most {limits.max_pictures} are "
                           "accepted", "messages", "too_many_images")
    media: list[Medium] = []
    pixels = 0
    for where, shown in places:
        if isinstance(shown, VideoUrl):
            media.append(Clip(read_data_url(shown.url, where, "video"), limits.clip_frames))
            continue
        picture = read_data_url(shown.url, where)
        pixels += count_pixels(picture, where)
        if pixels > limits.max_pixels:
            raise Refusal(400, f"`{where}`: the pictures of a request may have {limits.max_pixels} pixels "
                               f"together; this one makes it {pixels}", where, "image_too_large")
        media.append(picture)
    return tuple(media)


def _max_new_tokens(request: ChatRequest, limit: int) -> int:
    given = {name: value for name in ("max_tokens", "max_completion_tokens")
             if (value := getattr(request, name)) is not None}
    if len(given) == 2:
        raise Refusal(400, "give `max_completion_tokens` or `max_tokens`, not both", "max_tokens",
                      "invalid_value")
    for name, value in given.items():
        if value > limit:
            raise Refusal(400, f"`{name}` must lie in 1 … {limit}, not {value}", name, "invalid_value")
    return next(iter(given.values()), limit)


def _instruction(messages: list[Message], place: int) -> tuple[str, ...]:
    if any(message.role not in INSTRUCTION_ROLES for message in messages[:place]):
        raise Refusal(400, "system messages must come first", f"messages.{place}.role", "invalid_conversation")
    return messages[place].texts


def _refuse_late_media(messages: list[Message]) -> None:
    """They belong to the user messages before the first answer."""
    answered = False
    for place, message in enumerate(messages):
        answered = answered or message.role == "assistant"
        if message.media and (answered or message.role != "user"):
            raise Refusal(400, "pictures and clips must be in the first user message", f"messages.{place}.content",
                          "invalid_image_place")


def _join(texts: Iterable[str]) -> str:
    return "\n\n".join(texts)
