"""How many events travel at once. It knows neither who makes them nor who reads them."""

from collections.abc import Generator, Iterable

from flashbench.serve.events import Committed, Event

Bundle = tuple[Event, ...]


def bundled(events: Iterable[Event], whole: bool) -> Generator[Bundle | None, None, None]:
    """Each event alone, as it comes; of an answer that is read `whole`, the rounds together at its end.

    A message passes two more processes, and on a machine with few cores takes from the decoder what they need. The
    first token is never held back: when it came is a measure of its own. None is a round that tells nothing yet, so
    that who drives this can stop between rounds.
    """
    held: list[Event] = []
    first = True
    for event in events:
        if not whole or not isinstance(event, Committed) or first:
            yield (*held, event)
            held.clear()
        else:
            held.append(event)
            yield None
        first = first and not isinstance(event, Committed)
