"""The summary as a table on the terminal. It computes nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashbench.bench.goals import show_goals
from flashbench.console import note, say, table
from flashbench.shown import number, refusals, share, with_interval

Line = Mapping[str, Any]

COLUMNS = ("task", "method", "A", "R decode [95 %]", "R e2e [95 %]", "identical", "prompts", "tokens/s")
CONTROL_COLUMNS = ("task", "control", "R e2e [95 %]", "identical", "prompts")


def show_summary(summary: Mapping[str, Any]) -> None:
    conditions = summary["conditions"]
    table(f"{summary['target']} · {conditions['dtype']} · {summary['claim_level']}", COLUMNS,
          [_cells(line) for line in [*summary["rows"], *summary["overall"]]])
    if summary["controls"]:
        table("Outside controls, against our vanilla", CONTROL_COLUMNS,
              [_control_cells(line) for line in summary["controls"]])
    for line in summary["noise"]:
        say(_noise(line))
    for line in refusals(summary):
        say(line)
    for line in summary["rows"]:
        if line["retried"]:
            say(f"{line['method']}, {line['label']}: {line['retried']} answers failed at first and were measured later "
                "than vanilla's")
    show_goals(summary["goals"])
    if not summary["quotable"]:
        note("These numbers come from a shortened run and are not for quoting.")


def _cells(line: Line) -> Sequence[str]:
    name = line["label"] + (" (out of domain)" if line["out_of_domain"] else "")
    return (name, line["method"], number(line["accept_length"]), with_interval(line, "speedup_decode"),
            with_interval(line, "speedup_e2e"), share(line["identical_share"]), str(line["prompts"]),
            number(line["output_tps"], 1))


def _control_cells(line: Line) -> Sequence[str]:
    return (line["label"], line["method"], with_interval(line, "speedup_e2e"), share(line["identical_share"]),
            str(line["prompts"]))


def _noise(line: Line) -> str:
    if line["verdict"] == "unchecked":
        return f"{line['target']}: the speed-ups are unchecked, for vanilla never ran twice (bench.noise_every)"
    return (f"{line['target']}: vanilla's second run took {with_interval(line, 'ratio')} times as long as its first "
            f"on {line['prompts']} prompts: {line['verdict']} ({100 * line['band']:g} % are allowed)")
