"""The lines of a summary as the report reads them, whichever format they were written in. It computes nothing.

Format 1 knew one temperature, one outside control and no refusals; its results stay readable.
"""

from collections.abc import Sequence
from typing import Any

Record = dict[str, Any]

CONTROLS = {"hf-generate": "transformers’ generate", "hf-prompt-lookup": "the same with prompt look-up",
            "hf-assisted": "the same with an assistant"}


def placed(summary: Record, section: str) -> list[Record]:
    """The lines of a section, each with its `path` in the summary and, beside the summary's own keys,

    cell  what tells it from lines of the same task and method: target or temperature, empty where there is one
    """
    return [_complete(line, summary) | {"path": f"{section}.{place}"}
            for place, line in enumerate(summary.get(section, []))]


def _complete(line: Record, summary: Record) -> Record:
    whole = {"refused": [], "tie_share": None, "temperature": temperature(summary), "label": line["task"],
             "target": summary["target"]} | line
    return whole | {"cell": whole["label"].removeprefix(line["task"]).strip(" ·")}


def temperature(summary: Record) -> float | None:
    """The only one there was, in format 1."""
    return summary["conditions"]["temperature"] if summary["format"] == 1 else None


def title(line: Record) -> str:
    """Method, and cell where the run has several."""
    return ", ".join(filter(None, (line["method"], line["cell"])))


def vanilla_of(line: Record, lines: Sequence[Record]) -> Record:
    """Vanilla's line on the same prompts."""
    return next(other for other in lines if other["method"] == "vanilla"
                and (other["target"], other["label"]) == (line["target"], line["label"]))


def control_lines(summary: Record) -> list[Record]:
    """Per task and outside control, with its `name` and the `key` of its ratio; `over` says what the ratio is."""
    return [{**line, "name": CONTROLS.get(line["method"], line["method"]), "key": "speedup_e2e", "over": "vanilla"}
            for line in placed(summary, "controls")] + [
        {**line, "name": CONTROLS["hf-generate"], "key": "vanilla_over_hf", "over": "it"}
        for line in placed(summary, "control")]


def refusals(lines: Sequence[Record]) -> dict[str, list[str]]:
    """Every reason against a speed-up, and the lines that have none because of it."""
    found: dict[str, list[str]] = {}
    for line in lines:
        for reason in line["refused"]:
            found.setdefault(reason, []).append(f"{line['method']} on {line['label']}")
    return found
