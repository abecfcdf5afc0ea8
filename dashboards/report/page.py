"""Records → one self-contained HTML file. What is said about the numbers is decided in the template."""

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dashboards.report.figures import colours, draw_figures
from dashboards.report.records import Record, RunRecords, read_run
from dashboards.report.strip import examples

FOLDER = Path(__file__).parent


def render_report(run_folder: Path, out_html: Path) -> None:
    """Write the page, and its figures to `run_folder/figures`.

    Raises FileNotFoundError where the benchmark has not been finished.
    """
    run = read_run(run_folder)
    figures = {name: Markup(svg) for name, svg in draw_figures(run, run_folder / "figures").items()}
    page = _environment().get_template("page.html.j2").render(
        summary=run.summary, methods=run.methods, colours=colours(run.methods), figures=figures,
        headline=headline(run), tasks=_by_task(run), examples=examples(run), verdict=run.verdict,
        style=Markup((FOLDER / "page.css").read_text()), script=Markup((FOLDER / "page.js").read_text()),
        data=_embedded(run.summary))
    temporary = out_html.with_name(f".{out_html.name}.tmp")
    temporary.write_text(page, encoding="utf-8")
    temporary.replace(out_html)


def headline(run: RunRecords) -> Record:
    """The method with the highest decode speed-up over all tasks in domain."""
    drafts = [line for line in run.summary["overall"] if line["method"] != "vanilla"]
    return max(drafts or run.summary["overall"], key=lambda line: line["speedup_decode"] or 0.0)


def _by_task(run: RunRecords) -> dict[str, list[Record]]:
    tasks: dict[str, list[Record]] = {}
    for line in [*run.summary["overall"], *run.summary["rows"]]:
        tasks.setdefault(line["label"], []).append(line)
    return tasks


def _embedded(summary: Record) -> Markup:
    """The summary itself, for whoever wants the digits: `</` cannot end the script element."""
    return Markup(json.dumps(summary, ensure_ascii=False).replace("</", "<\\/"))


def _environment() -> Environment:
    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= {"number": _number, "times": _times, "percent": _percent, "span": _span}
    return environment


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _span(interval: list[Any], digits: int = 2) -> str:
    """A 95 % interval."""
    low, high = interval
    return "" if low is None or high is None else f"{low:.{digits}f} – {high:.{digits}f}"
