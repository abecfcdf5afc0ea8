"""The body of a chat request, checked. It knows OpenAI's fields, no model and no picture format.

Fields that would change the answer and that no decoder here supports are refused unless they
have their neutral value; fields that change nothing are dropped.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, JsonValue, Tag, ValidationError
from pydantic_core import from_json

from flashbench.serve.refusal import Refusal
from specflash.catalogue import nearest

NEUTRAL: dict[str, tuple[JsonValue, ...]] = {
    "n": (1,), "presence_penalty": (0,), "frequency_penalty": (0,), "logprobs": (False,),
    "top_logprobs": (0,), "logit_bias": ({},), "tools": ([],), "tool_choice": ("none",), "functions": ([],),
    "response_format": ({"type": "text"},), "modalities": (["text"],),
    # What vLLM's clients may say besides.
    "repetition_penalty": (1,), "length_penalty": (1,), "min_p": (0,), "min_tokens": (0,), "use_beam_search": (False,),
    "skip_special_tokens": (True,), "echo": (False,), "add_generation_prompt": (True,), "priority": (0,),
}
WITHOUT_EFFECT = frozenset({"metadata", "store", "service_tier", "safety_identifier",
                            "prompt_cache_key", "parallel_tool_calls"})


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class TextPart(Part):
    type: Literal["text"]
    text: str


class ImageUrl(Part):
    """`detail` is accepted and has no effect: a target has one picture size."""

    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class ImagePart(Part):
    type: Literal["image_url"]
    image_url: ImageUrl


class VideoUrl(Part):
    url: str


class VideoPart(Part):
    type: Literal["video_url"]
    video_url: VideoUrl


ContentPart = Annotated[TextPart | ImagePart | VideoPart, Field(discriminator="type")]
Content = Annotated[Annotated[str, Tag("str")] | Annotated[list[ContentPart], Tag("parts")],
                    Discriminator(lambda value: "parts" if isinstance(value, list) else "str")]


def _as_list(value: JsonValue) -> JsonValue:
    return [value] if isinstance(value, str) else value


Stop = Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=4), BeforeValidator(_as_list)]


class Message(Part):
    """The fields after `name` come back from clients that resend an answer as they got it."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Content
    name: str | None = None
    refusal: None = None
    tool_calls: None = None
    function_call: None = None
    audio: None = None
    annotations: None = None

    @property
    def texts(self) -> tuple[str, ...]:
        if isinstance(self.content, str):
            return (self.content,)
        return tuple(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def media(self) -> tuple[ImageUrl | VideoUrl, ...]:
        """Pictures and clips, in order."""
        parts = () if isinstance(self.content, str) else self.content
        return tuple(part.image_url if isinstance(part, ImagePart) else part.video_url
                     for part in parts if not isinstance(part, TextPart))


class StreamOptions(Part):
    """`include_rounds` is an extension: every chunk of text then tells which round made it, token by token.

    `continuous_usage_stats` is vLLM's: every chunk of text then has the usage so far.
    """

    include_usage: bool = False
    continuous_usage_stats: bool = False
    include_rounds: bool = False
    include_obfuscation: bool = False


class ChatRequest(Part):
    """POST /v1/chat/completions. temperature and top_p default to OpenAI's 1; `top_k` (0 and -1: off) and
    `ignore_eos` are extensions, as vLLM names them.

    user  stays with one method where `model` is `auto`
    """

    model: str
    messages: list[Message] = Field(min_length=1)
    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(None, gt=0, le=1, allow_inf_nan=False)
    top_k: int | None = Field(None, ge=-1)
    ignore_eos: bool | None = False
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    seed: int | None = Field(None, ge=-2**63, lt=2**63)
    stop: Stop | None = None
    user: str | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None

    @property
    def told(self) -> StreamOptions:
        """What a stream is to tell besides the text."""
        return self.stream_options or StreamOptions()


def parse_request(body: bytes) -> ChatRequest:
    """Raises Refusal with the first thing that is wrong."""
    tree = read_object(body)
    fields = {name: value for name, value in tree.items() if name not in WITHOUT_EFFECT}
    for name, neutral in NEUTRAL.items():
        if fields.pop(name, None) not in (None, *neutral):
            raise Refusal(400, f"`{name}` is not supported here; leave it out", name, "unsupported_parameter")
    try:
        return ChatRequest.model_validate(fields)
    except ValidationError as error:
        raise explained(error, fields, ChatRequest) from None


def read_object(body: bytes) -> dict[str, JsonValue]:
    """Raises Refusal where the body is no JSON object."""
    try:
        tree = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal(400, f"the body is not valid JSON: {error}", code="invalid_json") from None
    if not isinstance(tree, dict):
        raise Refusal(400, "the body must be a JSON object", code="invalid_json")
    return tree


def explained(error: ValidationError, tree: JsonValue, model: type[BaseModel]) -> Refusal:
    """The first thing that is wrong with `tree`, which was to be a `model`."""
    problem = error.errors(include_url=False)[0]
    location, reason = problem["loc"], problem["msg"]
    where = _path(location, tree)
    if problem["type"] == "missing":
        where = f"{where}.{location[-1]}".lstrip(".")
        return Refusal(400, f"`{where}` is missing", where, "missing_required_parameter")
    if problem["type"] == "extra_forbidden":
        hint = nearest(where, model.model_fields) if len(location) == 1 else ""
        return Refusal(400, f"unknown field `{where}`{hint}", where, "unknown_parameter")
    return Refusal(400, f"`{where}`: {reason[0].lower()}{reason[1:]}", where, "invalid_value")


def _path(location: tuple[int | str, ...], tree: JsonValue) -> str:
    """The part of `location` that is in the body: pydantic also names the union members it tried."""
    path, node = [], tree
    for part in location:
        if isinstance(part, str) and isinstance(node, dict) and part in node:
            node = node[part]
        elif isinstance(part, int) and isinstance(node, list):
            node = node[part]
        else:
            continue
        path.append(str(part))
    return ".".join(path)
