"""The compare stage: read the results, hold each against the first, print what came out."""

from collections.abc import Sequence
from pathlib import Path

from flashbench.compare.results import Result, read_result
from flashbench.compare.verdict import Finding, Verdict, compare
from flashbench.console import note, say, table
from specflash.errors import UserError

COLUMNS = ("method", "window", "time per token, ratio [95 %]", "prompts", "same length", "verdict")


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
    return Result(result.name, {method: result.methods[method]})


def _show(reference: Result, other: Result, findings: Sequence[Finding], tolerance: float) -> None:
    table(f"{other.name} against {reference.name}; above 1 is slower", COLUMNS,
          [_cells(finding) for finding in findings])
    for finding in findings:
        if finding.verdict is Verdict.UNCLEAR:
            say(f"{finding.method}, {finding.window}: {finding.prompts} prompts cannot tell a slow-down of "
                f"{100 * tolerance:g} % from none; about {finding.needed} would")
    left_out = max(finding.left_out for finding in findings)
    if left_out:
        note(f"{left_out} prompts are in one of the two only and were left out")


def _cells(finding: Finding) -> Sequence[str]:
    low, high = finding.interval.low, finding.interval.high
    return (finding.method, finding.window, f"{finding.ratio:.3f} [{low:.3f}, {high:.3f}]", str(finding.prompts),
            f"{100 * finding.same_length:.0f} %", finding.verdict.value)
