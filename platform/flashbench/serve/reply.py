"""Events -> OpenAI's chat completion, whole or as server-sent chunks. It knows no model and no route.

Beside OpenAI's fields an answer has `speculative`, the account of how it came about; a stream has
it in the usage chunk (`stream_options: {"include_usage": true}`). With `{"include_rounds": true}` every
chunk of text has one too, about its own round: which it was (0 is the prefill), how many tokens were drafted
and kept, and the text token by token. With `{"continuous_usage_stats": true}` every chunk of text has the usage so far.
"""

import json
import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from itertools import count
from secrets import token_hex

from flashbench.serve.events import Committed, Event, Finished, Order, Started
from flashbench.serve.refusal import Refusal
from flashbench.serve.schema import StreamOptions
from specflash.metrics import Row, accept_length

Json = dict[str, object]
DONE = "data: [DONE]\n\n"


@dataclass(frozen=True)
class Reply:
    """One answer's identity: what all its chunks share."""

    method: str
    order: Order
    id: str = field(default_factory=lambda: f"chatcmpl-{token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    async def whole(self, started: Started, events: AsyncGenerator[Event, None]) -> Json:
        """The completion, once everything has been decoded."""
        texts = []
        async for event in events:
            if isinstance(event, Committed | Finished):
                texts.append(event.text)
        message = {"role": "assistant", "content": "".join(texts), "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": event.finish}
        return self._body("chat.completion", [choice]) | self._accounts(started, event)

    async def chunks(self, started: Started, events: AsyncGenerator[Event, None],
                     told: StreamOptions) -> AsyncGenerator[str, None]:
        """Server-sent events: role, text by rounds, finish reason, usage when asked for, [DONE].

        A failure in mid-stream becomes an error event and ends the stream without [DONE].
        """
        yield self._chunk({"role": "assistant", "content": ""}, None)
        rounds, completion = count(), 0
        try:
            async for event in events:
                detail: Json = {}
                if isinstance(event, Committed):
                    completion += len(event.ids)
                    detail = _round(next(rounds), event) if told.include_rounds else {}
                if isinstance(event, Committed | Finished) and (event.text or detail):
                    usage = {"usage": _usage(started, completion)} if told.continuous_usage_stats else {}
                    yield self._chunk({"content": event.text}, None, detail | usage)
        except Refusal as refusal:
            yield _sse(refusal.body())
            return
        yield self._chunk({}, event.finish)
        if told.include_usage:
            yield _sse(self._body("chat.completion.chunk", []) | self._accounts(started, event))
        yield DONE

    def _chunk(self, delta: Json, finish: str | None, detail: Json | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _sse(self._body("chat.completion.chunk", [choice]) | (detail or {}))

    def _body(self, kind: str, choices: Iterable[Json]) -> Json:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.method,
                "choices": list(choices)}

    def _accounts(self, started: Started, finished: Finished) -> Json:
        usage = _usage(started, Row.of(self.order.sample.id, finished).tokens)
        return {"usage": usage, "speculative": self._speculative(finished)}

    def _speculative(self, finished: Finished) -> Json:
        account = Row.of(self.order.sample.id, finished)
        return {"method": self.method, "seed": self.order.sampling.seed, "rounds": account.passes,
                "drafted": sum(finished.drafted), "accepted": sum(finished.kept),
                "accept_length": accept_length([account]).pooled if account.passes else None,
                "accepted_by_round": finished.kept, "committed_by_round": finished.committed,
                "seconds": {phase: round(spent, 6) for phase, spent in finished.seconds.items()}}


def _usage(started: Started, completion: int) -> Json:
    return {"prompt_tokens": started.prompt_tokens, "completion_tokens": completion,
            "total_tokens": started.prompt_tokens + completion}


def _round(number: int, event: Committed) -> Json:
    return {"speculative": {"round": number, "drafted": event.drafted, "kept": event.kept, "pieces": event.pieces}}


def _sse(body: Json) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False, separators=(',', ':'))}\n\n"
