"""A decoder whose requests are counted and timed. It knows neither Ray nor HTTP: a Recorder takes the numbers."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from time import perf_counter

from flashbench.serve.events import Committed, Decoder, Event, Finished, Order, Refused, Started
from flashbench.serve.metrics import Recorder
from flashbench.serve.refusal import Refusal

TOO_MANY_REQUESTS = 429


class Metered:
    """The same events as `decoder`'s; what they tell goes to `record` as they pass.

    clock  seconds; only differences count
    """

    def __init__(self, method: str, decoder: Decoder, record: Recorder, clock: Callable[[], float] = perf_counter):
        self._method, self._decoder, self._record, self._clock = method, decoder, record, clock
        self._in_state = {"waiting": 0, "running": 0}
        for state in self._in_state:
            self._tell(f"num_requests_{state}", 0)

    async def decode(self, order: Order) -> AsyncGenerator[Event, None]:
        request = _Request(self._tell, self._clock)
        state, outcome = "waiting", "disconnected"
        self._count(state, 1)
        try:
            async with aclosing(self._decoder.decode(order)) as events:
                async for event in events:
                    if isinstance(event, Started):
                        self._count(state, -1)
                        state = "running"
                        self._count(state, 1)
                    if isinstance(event, Refused):
                        outcome = "refused"  # and nobody reads on
                    request.take(event)
                    yield event
            outcome = "finished" if outcome == "disconnected" else outcome
        except Refusal as refusal:
            outcome = "busy" if refusal.status == TOO_MANY_REQUESTS else "refused" if refusal.status < 500 else "failed"
            raise
        except Exception:
            outcome = "failed"
            raise
        finally:
            self._count(state, -1)
            self._tell("requests", 1, outcome=outcome)

    @property
    def requests(self) -> int:
        """Those that wait or run."""
        return sum(self._in_state.values())

    def _count(self, state: str, by: int) -> None:
        self._in_state[state] += by
        self._tell(f"num_requests_{state}", self._in_state[state])

    def _tell(self, name: str, value: float, **tags: str) -> None:
        self._record(name, value, method=self._method, **tags)


class _Request:
    """What one request's events add to the counters, each as it comes."""

    def __init__(self, tell: Callable[..., None], clock: Callable[[], float]):
        self._tell, self._clock = tell, clock
        self._asked = clock()
        self._first: float | None = None

    def take(self, event: Event) -> None:
        if isinstance(event, Started):
            self._tell("prompt_tokens", event.prompt_tokens)
        elif isinstance(event, Committed):
            self._tell("generation_tokens", len(event.ids))
            if self._first is None:
                self._first = self._clock()
                self._tell("time_to_first_token_seconds", self._first - self._asked)
            else:
                self._round(event)
        elif isinstance(event, Finished):
            self._finish(event)

    def _round(self, event: Committed) -> None:
        self._tell("rounds", 1)
        if event.drafted == 0:
            return
        self._tell("spec_decode_num_drafts", 1)
        self._tell("spec_decode_num_draft_tokens", event.drafted)
        if event.kept:
            self._tell("spec_decode_num_accepted_tokens", event.kept)
        for position in range(event.kept):
            self._tell("spec_decode_num_accepted_tokens_per_pos", 1, position=str(position))

    def _finish(self, event: Finished) -> None:
        now, tokens = self._clock(), sum(event.committed)
        self._tell("e2e_request_latency_seconds", now - self._asked)
        for phase, spent in event.seconds.items():
            if spent > 0:
                self._tell("phase_seconds", spent, phase=phase)
        if tokens:
            self._tell("decode_tokens", tokens)
            self._tell("time_per_output_token_seconds", (now - self._first) / tokens)
