"""What a run set out to reach, task by task: whether it did, and where it did not, where the time went.

It computes from finished lines of the summary and measures nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flashbench.bench.lines import WINDOWS, Line
from flashbench.bench.rows import VANILLA
from flashbench.console import say, table
from flashbench.settings import Settings
from flashbench.shown import number, with_interval

COLUMNS = ("target", "task", "method", "A", "R decode [95 %]", "bar", "R e2e [95 %]", "bar", "reached")


def goal_lines(experiments: Iterable[Settings], rows: Sequence[Line]) -> list[Line]:
    """One line per target × task × temperature that has a goal."""
    return [_judged(line, task.goal, _line_of(rows, line, VANILLA)) for settings in experiments
            for name, task in settings.bench.tasks.items() if task.goal
            for line in rows if (line["target"], line["task"], line["method"]) == (
                settings.target.name, name, task.goal.method)]


def show_goals(goals: Sequence[Line]) -> None:
    if not goals:
        return
    table("Bars", COLUMNS, [_cells(goal) for goal in goals])
    for goal in goals:
        for line in _arithmetic(goal):
            say(line)


def _line_of(rows: Sequence[Line], like: Line, method: str) -> Line:
    """The line of another method on the same prompts."""
    cell = ("target", "task", "temperature")
    return next(row for row in rows if row["method"] == method and all(row[name] == like[name] for name in cell))


def _judged(line: Line, goal: Any, vanilla: Line) -> Line:
    wanted = {window: getattr(goal, window) for window in WINDOWS}
    reached = {window: line[f"speedup_{window}"] is not None and line[f"speedup_{window}"] >= wanted[window]
               for window in WINDOWS if wanted[window] is not None}
    kept = ("label", "target", "task", "temperature", "method", "accept_length", "seconds", "seconds_per_round",
            "rounds", *(f"speedup_{window}{end}" for window in WINDOWS for end in ("", "_interval")))
    return {**{name: line[name] for name in kept}, "goal": wanted, "reached": reached,
            "vanilla_seconds": vanilla["seconds"], "ceilings": _ceilings(line, vanilla)}


def _ceilings(line: Line, vanilla: Line) -> dict[str, float | None]:
    """The speed-ups of the same answers where something took no time at all.

    decode  drafting and the loop: A · t_AR / t_verify
    e2e     everything behind the first token
    """
    per_round, predicted = line["seconds_per_round"], line["speedup_decode_predicted"]
    first = line["seconds"]["vision"] + line["seconds"]["prefill"]
    return {"decode": predicted and predicted * sum(per_round.values()) / per_round["verify"],
            "e2e": sum(vanilla["seconds"].values()) / first if first else None}


def _cells(goal: Line) -> Sequence[str]:
    told = "–" if not goal["reached"] else "yes" if all(goal["reached"].values()) else "no"
    return (goal["target"], goal["task"], goal["method"], number(goal["accept_length"]),
            with_interval(goal, "speedup_decode"), number(goal["goal"]["decode"]),
            with_interval(goal, "speedup_e2e"), number(goal["goal"]["e2e"]), told)


def _arithmetic(goal: Line) -> Iterable[str]:
    """Of each bar that is missed: where the seconds went, and what they would allow at most."""
    missed = [window for window, reached in goal["reached"].items() if not reached]
    if not missed:
        return
    took, before = (_told(goal[name]) for name in ("seconds", "vanilla_seconds"))
    where = f"{goal['target']}, {goal['task']}"
    if goal["speedup_e2e"] is None:
        yield f"{where}: no speed-up may be said, so its bars are missed"
        return
    yield f"{where}: {goal['method']} took {took}; vanilla {before}"
    if "decode" in missed:
        round_ = goal["seconds_per_round"]
        yield (f"{where}: a round is {_told(round_, 1000, ' ms')}; were all but verification free, R decode would be "
               f"{number(goal['ceilings']['decode'])}")
    if "e2e" in missed:
        yield (f"{where}: were everything behind the first token free, R e2e would be "
               f"{number(goal['ceilings']['e2e'])}")


def _told(seconds: Mapping[str, float | None], scale: float = 1, unit: str = " s") -> str:
    return ", ".join(f"{name} {number(value and scale * value, 1)}{unit}" for name, value in seconds.items()
                     if value)
