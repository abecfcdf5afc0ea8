"""From results to the lines of the summary: who is compared with whom, and what is refused.

It measures nothing and knows no model; the numbers of a line are made in lines.py, the reasons against it in
validity.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flashbench.bench.lines import (
    WINDOWS,
    Line,
    acceptance,
    accounts,
    agreement,
    around,
    counts,
    decode_identity,
    durations,
    no_speedup,
    speedup,
)
from flashbench.bench.results import Results, answers
from flashbench.bench.rows import AGAIN, VANILLA
from flashbench.bench.validity import reasons
from specflash import metrics
from specflash.metrics import E2E

ALL_TASKS = "all in domain"


def summarise(results: Results, noise_band: float) -> dict[str, Any]:
    """rows      one line per target × task × temperature × method of ours
    overall   the same over all tasks of the drafts' domain, with the geometric mean over the tasks
    controls  one line per target × task × outside control: R_e2e over our vanilla
    noise     one line per target: vanilla against vanilla
    refusals  every reason against a speed-up, and the lines that have none because of it
    failures  what a method raised
    valid     nothing is refused
    """
    noise = {each["target"]: _noise(results.part(**each), each["target"], noise_band)
             for each in results.distinct("target")}
    rows = [_line(results, cell, method, noise) for cell in results.distinct("target", "task", "temperature")
            for method in results.part(**cell).methods()]
    overall = [line for cell in results.distinct("target", "temperature")
               for line in _overall(results, cell, noise, rows)]
    controls = [_control(results, cell, name, noise) for cell in results.distinct("target", "task", "temperature")
                for name in results.part(**cell).controls()]
    refusals = _refusals([*rows, *overall, *controls])
    return {"rows": rows, "overall": overall, "controls": controls, "noise": list(noise.values()),
            "refusals": refusals, "failures": [dict(failure) for failure in results.failures], "valid": not refusals}


def _line(results: Results, cell: Mapping[str, Any], method: str, noise: Mapping[str, Line]) -> Line:
    part = results.part(**cell)
    return _labels(results, part, cell, method) | _numbers(part, method, noise[cell["target"]])


def _overall(results: Results, cell: Mapping[str, Any], noise: Mapping[str, Line], rows: Sequence[Line]) -> list[Line]:
    """Where every task is out of domain, over all of them."""
    everything = results.part(**cell)
    inside = everything.part(out_of_domain=False)
    inside = inside if inside.pieces else everything
    tasks = {each["task"] for each in inside.distinct("task")}
    lines = []
    for method in inside.methods():
        line = _labels(results, inside, {**cell, "task": ALL_TASKS}, method)
        line |= _numbers(inside, method, noise[cell["target"]])
        mine = [row for row in rows if row["task"] in tasks and row["method"] == method
                and all(row[name] == value for name, value in cell.items())]
        for window in WINDOWS:
            values = [row[f"speedup_{window}"] for row in mine if row[f"speedup_{window}"] is not None]
            line[f"speedup_{window}_geomean"] = metrics.geometric_mean(values) \
                if values and not line["refused"] else None
        lines.append(line)
    return lines


def _control(results: Results, cell: Mapping[str, Any], name: str, noise: Mapping[str, Line]) -> Line:
    """Below 1, the outside engine is slower than our vanilla."""
    part = results.part(**cell)
    refused = reasons(name, part, noise[cell["target"]])
    asked = part.asked_of(name)
    rows, baseline = asked.of(name), asked.of(VANILLA)
    return {**_labels(results, part, cell, name), "refused": refused, **counts(rows), **agreement(rows),
            **(no_speedup("e2e") if refused else speedup("e2e", rows, baseline))}


def _labels(results: Results, part: Results, cell: Mapping[str, Any], method: str) -> Line:
    """label: what tells the line's prompts from those of other lines, as short as the plan allows."""
    several = [name for name in ("target", "temperature") if len(results.distinct(name)) > 1]
    words = {"target": str(cell["target"]), "temperature": f"T = {cell['temperature']:g}"}
    return {**cell, "label": " · ".join([cell["task"], *(words[name] for name in several)]),
            "out_of_domain": part.pieces[0].prompt.out_of_domain, "method": method}


def _numbers(part: Results, method: str, noise: Line) -> Line:
    refused = reasons(method, part, noise)
    rows, baseline = part.of(method), part.of(VANILLA)
    line = {"refused": refused, **counts(rows), **acceptance(rows), **agreement(rows), **durations(rows)}
    for window in WINDOWS:
        line |= no_speedup(window) if refused else speedup(window, rows, baseline)
    predicted, measured = (None, None) if refused else decode_identity(accounts(rows), accounts(baseline))
    return line | {"speedup_decode_predicted": predicted,
                   "speedup_decode_deviation": None if predicted is None else predicted / measured - 1}


def _noise(results: Results, target: str, band: float) -> Line:
    """Vanilla's second run against its first, end to end: seconds per token, above 1 where the second was slower."""
    first, second = answers(results.of(VANILLA)), answers(results.of(AGAIN))
    both = [place for place in second if place in first]
    line = {"target": target, "prompts": len(both), "band": band}
    if not both:
        return line | {"ratio": None, "ratio_interval": [None, None], "verdict": "unchecked"}
    before, after = (accounts([some[place] for place in both]) for some in (first, second))
    value = metrics.speedup(before, after, E2E).pooled
    within = 1 / (1 + band) <= value <= 1 + band
    interval = around(value, lambda: metrics.speedup_interval(before, after, E2E))
    return line | {"ratio": value, "ratio_interval": interval, "verdict": "quiet" if within else "noisy"}


def _refusals(lines: Sequence[Line]) -> list[Line]:
    found: dict[str, list[str]] = {}
    for line in lines:
        for reason in line["refused"]:
            found.setdefault(reason, []).append(f"{line['method']}, {line['label']}")
    return [{"reason": reason, "lines": names} for reason, names in found.items()]
