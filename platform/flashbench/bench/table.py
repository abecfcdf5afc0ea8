"""The summary as a table on the terminal. It computes nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashbench.console import note, say, table

Line = Mapping[str, Any]

COLUMNS = ("task", "method", "A", "R decode [95 %]", "R e2e [95 %]", "identical", "prompts", "tokens/s")


def show_summary(summary: Mapping[str, Any]) -> None:
    conditions = summary["conditions"]
    table(f"{summary['target']} · {conditions['dtype']} · {summary['claim_level']}", COLUMNS,
          [_cells(line) for line in [*summary["rows"], *summary["overall"]]])
    for line in summary["control"]:
        say(f"{line['task']}: our vanilla is {line['vanilla_over_hf']:.2f} times as fast as transformers' own "
            f"`generate` (same tokens in {share(line['identical_share'])} of the answers)")
    if not summary["quotable"]:
        note("These numbers come from a shortened run and are not for quoting.")


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _cells(line: Line) -> Sequence[str]:
    name = line["task"] + (" (out of domain)" if line["out_of_domain"] else "")
    return (name, line["method"], _number(line["accept_length"]), _with_interval(line, "speedup_decode"),
            _with_interval(line, "speedup_e2e"), share(line["identical_share"]), str(line["prompts"]),
            _number(line["output_tps"], 1))


def _with_interval(line: Line, key: str) -> str:
    low, high = line[f"{key}_interval"]
    if line[key] is None:
        return "–"
    return f"{line[key]:.2f} [{low:.2f}, {high:.2f}]"


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
