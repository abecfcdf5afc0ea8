"""Which method of one result is held against which of the other. It knows no time."""

from collections.abc import Callable
from dataclasses import dataclass

from flashbench.compare.results import Result, Series
from specflash.errors import UserError


@dataclass(frozen=True)
class Pair:
    label: str
    before: Series
    after: Series


def pairs(reference: Result, result: Result) -> list[Pair]:
    """Those of one name, one target and one temperature, or the only method of either side.

    Raises UserError where no two of them can be compared: seconds per token of different targets, or of
    different temperatures, say nothing about a method.
    """
    same_name = [(before, after) for before in reference.series for after in result.series
                 if before.method == after.method]
    candidates = same_name or _only_methods(reference, result)
    good = [(before, after) for before, after in candidates if before.differs_from(after) is None]
    if not good:
        before, after = candidates[0]
        raise UserError(f"{reference.name} and {result.name} are no results of the same work: "
                        f"{before.differs_from(after)}")
    named = _namer(reference, result)
    return [Pair(named(before, after), before, after) for before, after in good]


def _only_methods(reference: Result, result: Result) -> list[tuple[Series, Series]]:
    if len(reference.methods) == len(result.methods) == 1:
        return [(before, after) for before in reference.series for after in result.series]
    raise UserError(f"no method in common: {reference.name} has {', '.join(reference.methods)}; "
                    f"{result.name} has {', '.join(result.methods)}; choose one with --method")


def _namer(*results: Result) -> Callable[[Series, Series], str]:
    """Names a pair by its method, and by its target and temperature where a result has several."""
    several = [name for name in ("target", "temperature")
               if any(len({getattr(series, name) for series in result.series}) > 1 for result in results)]

    def name_of(before: Series, after: Series) -> str:
        method = before.method if before.method == after.method else f"{before.method} → {after.method}"
        values = {name: getattr(before if getattr(before, name) is not None else after, name) for name in several}
        return " · ".join([method, *(f"T={value:g}" if name == "temperature" else str(value)
                                     for name, value in values.items() if value is not None)])

    return name_of
