"""The compare stage: read the results, hold each against the first, print what came out."""

from collections.abc import Sequence
from pathlib import Path

from flashbench.compare.conditions import differences
from flashbench.compare.places import read_result
from flashbench.compare.results import Result
from flashbench.compare.verdict import Finding, Verdict, compare
from flashbench.console import note, say, table
from flashbench.shown import share
from specflash.errors import UserError

COLUMNS = ("method", "window", "time per token, ratio [95 %]", "prompts", "same length", "same answer", "verdict")
NAMED = 3
"""How many prompts with another answer are named."""


def run_compare(paths: Sequence[Path], tolerance: float, method: str | None = None, strict: bool = False) -> bool:
    """Whether no later result is slower than the first one by the tolerance.

    method  compare this one only; a result that holds a single method keeps it, whatever its name
    strict  a comparison that cannot tell counts as a slower one
    """
    if len(paths) < 2:
        raise UserError("name two results at least; the first is the reference")
    if not 0 < tolerance < 1:
        raise UserError(f"--tolerance is a share between 0 and 1 (0.03 is 3 %), not {tolerance:g}")
    reference, *others = [_chosen(read_result(path), method) for path in paths]
    findings = []
    for other in others:
        found = compare(reference, other, tolerance)
        _show(reference, other, found, tolerance)
        findings += found
    bad = {Verdict.REGRESSION, Verdict.UNCLEAR} if strict else {Verdict.REGRESSION}
    return not any(finding.verdict in bad for finding in findings)


def _chosen(result: Result, method: str | None) -> Result:
    if method is None or len(result.methods) == 1:
        return result
    if method not in result.methods:
        raise UserError(f"{result.name} has no method `{method}`; it has {', '.join(result.methods)}")
    series = {one: prompts for one, prompts in result.series.items() if one.method == method}
    return Result(result.name, series, result.conditions)


def _show(reference: Result, other: Result, findings: Sequence[Finding], tolerance: float) -> None:
    table(f"{other.name} against {reference.name}; above 1 is slower", COLUMNS,
          [_cells(finding) for finding in findings])
    for finding in findings:
        if finding.verdict is Verdict.UNCLEAR:
            say(f"{finding.method}, {finding.window}: {_prompts(finding.prompts)} cannot tell a slow-down of "
                f"{100 * tolerance:g} % from none; about {finding.needed} would")
    for line in [*_other_answers(findings), *_left_out(findings)]:
        note(line)
    missing = [name for name in reference.methods if name not in other.methods]
    if missing and len(reference.methods) > 1:
        note(f"not compared, for {other.name} has no {', '.join(missing)}")
    changed = differences(reference.conditions, other.conditions)
    if changed:
        note(f"measured under other conditions, which the ratios contain: {'; '.join(changed)}")


def _other_answers(findings: Sequence[Finding]) -> list[str]:
    """One line per method whose greedy answers differ: one of the two did not decode what the other did."""
    differing = {finding.method: finding for finding in findings if finding.greedy and finding.other_answer}
    return [f"{method}: {len(finding.other_answer)} of {_prompts(finding.prompts)} got another answer at temperature 0 "
            f"({', '.join(finding.other_answer[:NAMED])}{', …' if len(finding.other_answer) > NAMED else ''})"
            for method, finding in differing.items()]


def _left_out(findings: Sequence[Finding]) -> list[str]:
    lines = []
    left_out, cut = (max(getattr(finding, name) for finding in findings) for name in ("left_out", "other_limit"))
    if left_out:
        lines.append(f"in one of the two only and left out: {_prompts(left_out)}")
    if cut:
        lines.append(f"answered under another token limit and left out: {_prompts(cut)}")
    return lines


def _cells(finding: Finding) -> Sequence[str]:
    low, high = finding.interval.low, finding.interval.high
    return (finding.method, finding.window, f"{finding.ratio:.3f} [{low:.3f}, {high:.3f}]", str(finding.prompts),
            share(finding.same_length), share(finding.same_answer), finding.verdict.value)


def _prompts(number: int) -> str:
    return f"{number} prompt" + ("" if number == 1 else "s")
