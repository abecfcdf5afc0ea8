"""The note above a comparison in MLflow: its leaderboard in markdown, rounded for reading, and what that means."""

from collections.abc import Mapping
from typing import Any

Line = Mapping[str, Any]

MOST_LINES = 24
"""A note has its limit of characters; the whole leaderboard is a table among the artifacts."""

HEAD = """| task | method | A | R decode [95 %] | R e2e [95 %] | same as vanilla | prompts |
|---|---|--:|--:|--:|--:|--:|"""
MEANING = """**A** (`accept_length`): tokens per verification pass, the target's own included; vanilla has 1. \
**R** (`speedup_decode`, `speedup_e2e`): seconds per token of vanilla ÷ those of the method, after the first token \
and over the whole request; above 1 is faster. Ratios are pooled over the prompts; intervals are 95 %, paired, \
over prompts. *Same as vanilla* (`identical_share`): answers that equal vanilla's token for \
token. `claim_level` says on what this was measured: figures of a CPU say nothing about a GPU."""


def leaderboard_note(summary: Mapping[str, Any]) -> str:
    machine, conditions = summary["fingerprint"]["machine"], summary["conditions"]
    head = (f"**{summary['target']}** · {conditions['dtype']} · {summary['claim_level']} "
            f"({machine.get('gpu') or machine['cpu']}, {machine['cores']} cores)")
    lines = [*summary["rows"], *summary["overall"]]
    more = len(lines) - MOST_LINES
    table = "\n".join([HEAD, *(_line(line) for line in lines[:MOST_LINES])])
    parts = [head, "" if summary["quotable"] else "**These numbers come from a shortened run: not for quoting.**",
             table, *_refusals(summary), f"{more} more lines are in `leaderboard.json`." if more > 0 else "", MEANING]
    return "\n\n".join(part for part in parts if part)


def _refusals(summary: Mapping[str, Any]) -> list[str]:
    return [f"No speed-up of {'; '.join(refusal['lines'])}: {refusal['reason']}" for refusal in summary["refusals"]]


def _line(line: Line) -> str:
    task = line["task"] + (f", T={line['temperature']:g}" if line["temperature"] else "")
    cells = (task, line["method"], _number(line["accept_length"]), _with_interval(line, "speedup_decode"),
             _with_interval(line, "speedup_e2e"), _share(line["identical_share"]), line["prompts"])
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _with_interval(line: Line, key: str) -> str:
    if line[key] is None:
        return "–"
    low, high = line[f"{key}_interval"]
    return f"{line[key]:.2f}" + (" [one prompt]" if low is None else f" [{low:.2f}, {high:.2f}]")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"
