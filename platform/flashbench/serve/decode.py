"""One order answered by a target and a draft, as events. It knows no thread, no Ray and no HTTP."""

from collections.abc import Generator
from contextlib import closing

from flashbench.serve.events import Committed, Event, Finished, Order, Refused, Started
from flashbench.serve.stops import Words
from specflash.decoding import Decoding, check_room
from specflash.drafts.base import Draft
from specflash.errors import UserError
from specflash.records import Generation
from specflash.targets.base import Target

CHARACTERS_PER_TOKEN = 64
"""No text has longer tokens on average, so what has more characters need not be tokenised to be refused."""


def answer(target: Target, draft: Draft, order: Order, max_prompt_tokens: int) -> Generator[Event, None, None]:
    """Closing the iterator frees the cache; the generation goes no further."""
    characters = sum(len(turn.question) + len(turn.answer or "") for turn in order.sample.turns)
    if characters > max_prompt_tokens * CHARACTERS_PER_TOKEN:
        yield Refused(f"the prompt has {characters} characters; more than {max_prompt_tokens} tokens, which are "
                      "accepted, can have", "context_length_exceeded")
        return
    try:
        prompt = target.encode(order.sample)
    except UserError as error:
        yield Refused(str(error), "invalid_prompt")
        return
    if prompt.length > max_prompt_tokens:
        yield Refused(f"the prompt has {prompt.length} tokens (pictures included); at most "
                      f"{max_prompt_tokens} are accepted", "context_length_exceeded")
        return
    try:
        check_room(target, prompt, order.sampling.max_new_tokens)
    except UserError as error:
        yield Refused(str(error), "context_length_exceeded")
        return
    yield Started(prompt.length)
    words = Words(target.decode, order.stop)
    with closing(Decoding(target, draft, prompt, order.sampling)) as decoding:
        for ids in decoding:
            pieces = words.push(ids)
            if words.stopped:
                _end_early(decoding.generation, len(ids) - len(pieces))
            yield _committed(decoding.generation, ids[:len(pieces)], pieces)
            if words.stopped:
                break
        text = words.finish()
        yield _finished(decoding.generation, text, "stop" if words.stopped else decoding.generation.finish)


def _end_early(done: Generation, excess: int) -> None:
    """The last round's tokens behind a stop string do not count."""
    if excess:
        del done.ids[-excess:]
        done.committed[-1] -= excess


def _committed(done: Generation, ids: list[int], pieces: tuple[str, ...]) -> Committed:
    """The prefill's token comes before the first round, with nothing drafted."""
    drafted, kept = (done.drafted[-1], done.kept[-1]) if done.drafted else (0, 0)
    return Committed(tuple(ids), "".join(pieces), drafted, kept, pieces)


def _finished(done: Generation, text: str, finish: str) -> Finished:
    return Finished(text, finish, tuple(done.kept), tuple(done.drafted), tuple(done.committed),
                    dict(done.seconds))
