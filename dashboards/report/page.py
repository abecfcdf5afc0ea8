"""Records → one self-contained HTML file. What is said about the numbers is decided in the templates."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dashboards.colours import PALETTE, PHASES, colours
from dashboards.report.cost import round_costs
from dashboards.report.figures import Drawn, draw_figures
from dashboards.report.gate import read_gate
from dashboards.report.lines import Record, control_lines, refusals, title
from dashboards.report.records import RunRecords, read_run
from dashboards.report.rounding import derived, exact
from dashboards.report.strip import examples
from specflash.conventions import CONVENTIONS

FOLDER = Path(__file__).parent
WIDEST = 1.6
"""Of the fastest line: so far intervals are drawn."""


def render_report(run_folder: Path, out_html: Path) -> None:
    """Write the page, and its figures to `run_folder/figures`.

    Raises FileNotFoundError where the benchmark has not been finished.
    """
    run = read_run(run_folder)
    page = page_of(run, draw_figures(run, run_folder / "figures"))
    temporary = out_html.with_name(f".{out_html.name}.tmp")
    temporary.write_text(page, encoding="utf-8")
    temporary.replace(out_html)


def page_of(run: RunRecords, figures: Mapping[str, Drawn]) -> str:
    """The page's HTML, with those figures on it that are given."""
    return _environment().get_template("page.html.j2").render(
        **_contents(run), figures=figures, style=Markup(PALETTE + (FOLDER / "page.css").read_text(encoding="utf-8")),
        script=Markup((FOLDER / "page.js").read_text(encoding="utf-8")), data=_embedded(run.summary))


def _contents(run: RunRecords) -> dict[str, Any]:
    """What the templates read."""
    overall, lines, controls = run.overall, [*run.overall, *run.lines], control_lines(run.summary)
    return {
        "run": run, "summary": run.summary, "colours": colours(run.methods), "phases": tuple(PHASES),
        "overall": overall, "cards": [line for line in overall if line["method"] != "vanilla"],
        "tasks": _by_label(lines), "headline": headline(overall), "prompts": overall[0]["prompts"],
        "scale": _scale(lines), "refusals": refusals([*lines, *controls]), "controls": controls, "gate": read_gate(run),
        "sampled": any(line["temperature"] for line in run.lines), "costs": round_costs(overall),
        "examples": examples(run), "conventions": CONVENTIONS,
        "positions": max((len(line["acceptance_by_position"]) for line in overall), default=0)}


def headline(lines: list[Record]) -> Record | None:
    """The draft with the highest decode speed-up; None where no line has one."""
    claimed = [line for line in lines if line["method"] != "vanilla" and line["speedup_decode"] is not None]
    return max(claimed, key=lambda line: line["speedup_decode"], default=None)


def _by_label(lines: list[Record]) -> dict[str, list[Record]]:
    tasks: dict[str, list[Record]] = {}
    for line in lines:
        tasks.setdefault(line["label"], []).append(line)
    return tasks


def _scale(lines: list[Record]) -> float:
    """Where the drawings of the speed-ups end: behind every interval, but for those that few prompts make so wide
    that nothing else could be seen beside them; these run out of the drawing.
    """
    known = [line for line in lines if line["speedup_decode"] is not None]
    ends = [line["speedup_decode_interval"][1] or line["speedup_decode"] for line in known]
    widest = WIDEST * max((line["speedup_decode"] for line in known), default=1.0)
    return 1.02 * min(max(ends, default=1.0), widest)


def _embedded(summary: Record) -> Markup:
    """The summary itself, for whoever wants the digits: no `<` in it can end or open an element."""
    return Markup(json.dumps(summary, ensure_ascii=False).replace("<", "\\u003c"))


def _environment() -> Environment:
    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=StrictUndefined)
    environment.globals |= {"exact": exact, "derived": derived, "title": title}
    environment.filters |= {"share_of": lambda whole, part: round(100 * part / whole, 2) if whole else 0,
                            "seconds": lambda value: f"{value:.3f}", "short": lambda value: f"{value:.3g}"}
    return environment
