"""The note above a comparison in MLflow: its leaderboard in markdown, rounded for reading, and what that means."""

from collections.abc import Mapping
from typing import Any

from flashbench.fingerprint import accelerator
from flashbench.shown import number, refusals, share, with_interval

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
            f"({accelerator(machine)}, {machine['cores']} cores)")
    lines = [*summary["rows"], *summary["overall"]]
    more = len(lines) - MOST_LINES
    table = "\n".join([HEAD, *(_line(line) for line in lines[:MOST_LINES])])
    parts = [head, "" if summary["quotable"] else "**These numbers come from a shortened run: not for quoting.**",
             table, *refusals(summary), f"{more} more lines are in `leaderboard.json`." if more > 0 else "", MEANING]
    return "\n\n".join(part for part in parts if part)


def _line(line: Line) -> str:
    task = line["task"] + (f", T={line['temperature']:g}" if line["temperature"] else "")
    cells = (task, line["method"], number(line["accept_length"]), with_interval(line, "speedup_decode"),
             with_interval(line, "speedup_e2e"), share(line["identical_share"]), line["prompts"])
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
