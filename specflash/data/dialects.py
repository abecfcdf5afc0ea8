"""The three ways people write a conversation about pictures down, as one. It opens no file and knows no model.

    {"image": "1.jpg", "conversations": [{"from": "human", "value": "<image>\\nWhy?"}, {"from": "gpt", "value": "So."}]}
    {"messages": [{"role": "user", "content": [{"type": "image", "image": "1.jpg"}, {"type": "text", "text": "Why?"}]}]}
    {"prompt": "Why?", "image_files": ["1.jpg"], "answer": "So."}

Errors name the field; who calls adds the file and the line.
"""

from collections.abc import Callable, Mapping
from typing import Any

from specflash.data.named import CLIP, PICTURE, Named, named
from specflash.errors import UserError
from specflash.records import Turn

Row = Mapping[str, Any]
FIELDS = {PICTURE: ("image", "images", "image_file", "image_files"), CLIP: ("video", "videos", "video_file")}
"""Where the first and the last dialect name their media."""
MARKERS = ("<image>", "<video>")
SPEAKERS = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant"}
PARTS = {"image": PICTURE, "image_url": PICTURE, "input_image": PICTURE, "video": CLIP, "video_url": CLIP}


Spoken = tuple[tuple[Named, ...], tuple[Turn, ...]]


def llava(row: Row) -> Spoken:
    """LLaVA and ShareGPT: `conversations`, with `from` and `value` or with `role` and `content`."""
    return _beside(row), conversation(row.get("conversations"))


def openai(row: Row) -> Spoken:
    """OpenAI: `messages`, whose content is text or a list of parts. Media come with the first question."""
    messages, media, said = row.get("messages"), [], []
    if not isinstance(messages, list):
        raise UserError("`messages` is not a list")
    for number, message in enumerate(messages):
        place = f"messages[{number}]"
        speaker = _speaker(message, "role", f"{place}.role")
        text, shown = _content(message.get("content"), f"{place}.content")
        if shown and number:
            raise UserError(f"`{place}.content` holds a picture or clip; they must all be in the first message")
        media += shown
        said.append((speaker, text))
    return (*_beside(row), *media), _turns(said, "messages[].role")


def prompted(row: Row) -> Spoken:
    """One question beside its media, perhaps with an answer."""
    name = next(name for name in QUESTIONS if name in row)
    answer = next((row[field] for field in ANSWERS if row.get(field) is not None), None)
    if answer is not None and not isinstance(answer, str):
        raise UserError(f"`{next(field for field in ANSWERS if row.get(field) is not None)}` is not text")
    if not isinstance(row[name], str) or not _unmarked(row[name]):
        raise UserError(f"`{name}` is not a question")
    return _beside(row), (Turn(_unmarked(row[name]), answer and answer.strip()),)


QUESTIONS = ("prompt", "question", "text")
ANSWERS = ("answer", "response", "gpt_answer")
DIALECTS: dict[str, Callable[[Row], Spoken]] = {
    "conversations": llava, "messages": openai, **dict.fromkeys(QUESTIONS, prompted)}
"""The field that tells a dialect -> what reads it, the surest first."""


def recognise(row: Row) -> Callable[[Row], Spoken]:
    """The dialect a row is written in; raises UserError that names the fields looked for."""
    for field, dialect in DIALECTS.items():
        if field in row:
            return dialect
    raise UserError(f"none of the fields {', '.join(f'`{field}`' for field in DIALECTS)} is there: the row must be "
                    "a LLaVA conversation, OpenAI messages, or a prompt with image files")


def conversation(messages: object) -> tuple[Turn, ...]:
    """The turns of `conversations`, without picture markers. Raises UserError that names the field.

    An answer before the first question is skipped, as in LLaVA's own training.
    """
    if not isinstance(messages, list):
        raise UserError("`conversations` is not a list")
    said = []
    for number, message in enumerate(messages):
        key, field = ("role", "content") if isinstance(message, Mapping) and "role" in message else ("from", "value")
        if not isinstance(message, Mapping) or not isinstance(message.get(field), str):
            raise UserError(f"`conversations[{number}].{field}` is not text")
        said.append((_speaker(message, key, f"conversations[{number}].{key}"), _unmarked(message[field])))
    return _turns(said, "conversations[].from")


def _speaker(message: object, key: str, place: str) -> str:
    name = message.get(key) if isinstance(message, Mapping) else None
    if not isinstance(name, str) or name not in SPEAKERS:
        raise UserError(f"`{place}` is {name!r}, not one of {', '.join(SPEAKERS)}")
    return SPEAKERS[name]


def _turns(said: list[tuple[str, str]], place: str) -> tuple[Turn, ...]:
    said = said[1:] if said and said[0][0] == "assistant" else said
    if not said or [speaker for speaker, _ in said] != [
            ("user", "assistant")[number % 2] for number in range(len(said))]:
        raise UserError(f"`{place}` must alternate between human and gpt (or user and assistant)")
    answers: list[str | None] = [text.strip() for _, text in said[1::2]]
    questions = [text.strip() for _, text in said[::2]]
    answers += [None] * (len(questions) - len(answers))
    return tuple(Turn(question, answer) for question, answer in zip(questions, answers, strict=True))


def _unmarked(text: str) -> str:
    for marker in MARKERS:
        text = text.replace(marker, "")
    return text.strip()


def _beside(row: Row) -> tuple[Named, ...]:
    """The media in a row's own fields."""
    return tuple(named(kind, value, f"{field}[{number}]" if isinstance(row[field], list) else field)
                 for kind, fields in FIELDS.items() for field in fields if row.get(field) is not None
                 for number, value in enumerate(row[field] if isinstance(row[field], list) else [row[field]]))


def _content(content: object, place: str) -> tuple[str, list[Named]]:
    """A message's text and media."""
    if isinstance(content, str):
        return _unmarked(content), []
    if not isinstance(content, list):
        raise UserError(f"`{place}` is neither text nor a list of parts")
    texts, media = [], []
    for number, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in ("text", "input_text") and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(kind, str) and kind in PARTS:
            value = part.get(kind, part.get("url"))
            value = value.get("url") if isinstance(value, Mapping) and "url" in value else value
            media.append(named(PARTS[kind], value, f"{place}[{number}].{kind}"))
        else:
            raise UserError(f"`{place}[{number}]` is no text, picture or clip")
    return _unmarked("\n".join(texts)), media
