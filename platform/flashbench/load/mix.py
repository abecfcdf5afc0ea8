"""Which requests are sent: a seeded mixture of what clients do, good and bad. It knows no server."""

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Literal

from specflash.data.drawn import TEST_SEED, jpeg
from specflash.data.scenes import draw_scene

Kind = Literal["greedy", "sampled", "leaving", "bad"]

SHARES: tuple[tuple[Kind, float], ...] = (("greedy", 0.70), ("sampled", 0.10), ("leaving", 0.10), ("bad", 0.10))
STREAMED = 0.5
SCENES = 4
QUESTIONS = ("Describe the picture.", "What colour is the ground?", "Name one thing.")
LENGTHS = (8, 16, 24)
LONG = 200
LEAVE_AFTER = (0, 1, 2, 4)


@dataclass(frozen=True)
class Ask:
    """One request, and what must come back.

    body         as it is sent
    greedy       the key of its text: equal keys must get equal texts, whoever decodes; None: its text is free
    stream       whether the answer is streamed
    leave_after  chunks after which the client goes away; 0: as soon as it has asked; None: it stays
    status       the HTTP status that must come back
    code         the error's code, where the status is an error's
    """

    kind: Kind
    method: str
    body: bytes
    greedy: str | None = None
    stream: bool = False
    leave_after: int | None = None
    status: int = 200
    code: str | None = None


def mixture(methods: Sequence[str], count: int, seed: int) -> list[Ask]:
    """`count` requests in random order; every kind comes in its share, and the methods in turn."""
    random = Random(seed)
    kinds = [kind for kind, share in SHARES for _ in range(round(share * count))]
    kinds = (kinds + ["greedy"] * count)[:count]
    asks = [_ask(kind, methods[number % len(methods)], random) for number, kind in enumerate(kinds)]
    random.shuffle(asks)
    return asks


def references(asks: Sequence[Ask], method: str) -> list[Ask]:
    """The same greedy requests, each once, whole, of one method."""
    return [Ask("greedy", method, _body(method, **json.loads(key)), key)
            for key in sorted({ask.greedy for ask in asks if ask.greedy})]


def timed(method: str, max_tokens: int, stream: bool) -> Ask:
    """A greedy request for measuring."""
    fields = {"messages": _messages(_picture(0), QUESTIONS[0]), "temperature": 0, "max_tokens": max_tokens}
    return Ask("greedy", method, _body(method, stream=stream, **fields), stream=stream)


def _ask(kind: Kind, method: str, random: Random) -> Ask:
    if kind == "bad":
        return random.choice(list(_bad(method)))
    fields: dict[str, Any] = {"messages": _messages(_picture(random.randrange(SCENES)), random.choice(QUESTIONS)),
                              "max_tokens": random.choice(LENGTHS)}
    stream = random.random() < STREAMED
    if kind == "sampled":
        return Ask(kind, method, _body(method, stream=stream, temperature=1, top_p=0.9, **fields), stream=stream)
    fields["temperature"] = 0
    if kind == "leaving":
        long = fields | {"max_tokens": LONG, "stream": True}
        return Ask(kind, method, _body(method, **long), stream=True, leave_after=random.choice(LEAVE_AFTER))
    if random.random() < 0.25:
        fields["stop"] = ["."]
    return Ask(kind, method, _body(method, stream=stream, **fields), json.dumps(fields), stream)


def _bad(method: str) -> Iterator[Ask]:
    """One of everything that must be refused."""
    for url, status, code in (("http://127.0.0.1/a.png", 400, "invalid_image_url"),
                              ("file:///etc/hostname", 400, "invalid_image_url"),
                              ("data:text/html;base64,YQ==", 415, "unsupported_media_type"),
                              (_url(b"no picture", "png"), 400, "invalid_image"),
                              (_url(_bomb(), "png"), 400, "image_too_large")):
        yield Ask("bad", method, _body(method, messages=_messages(url, "?")), status=status, code=code)
    for fields, status, code in (({"model": "no-such-model"}, 404, "model_not_found"),
                                 ({"max_tokens": 10**9}, 400, "invalid_value"),
                                 ({"n": 2}, 400, "unsupported_parameter"), ({"messages": []}, 400, "invalid_value")):
        yield Ask("bad", method, _body(method, **{"messages": _messages(None, "Hello"), **fields}),
                  status=status, code=code)
    yield Ask("bad", method, b'{"model": "', status=400, code="invalid_json")


def _body(method: str, **fields: Any) -> bytes:
    return json.dumps({"model": method} | fields).encode()


def _messages(url: str | None, question: str) -> list[dict[str, Any]]:
    pictures = [] if url is None else [{"type": "image_url", "image_url": {"url": url}}]
    return [{"role": "user", "content": [*pictures, {"type": "text", "text": question}]}]


@cache
def _picture(number: int) -> str:
    return _url(jpeg(draw_scene(TEST_SEED + number)), "jpeg")


def _url(data: bytes, format: str) -> str:
    return f"data:image/{format};base64,{b64encode(data).decode()}"


def _bomb() -> bytes:
    """A PNG of a few bytes that says it has 3.6 thousand million pixels."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
