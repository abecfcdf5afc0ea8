"""A comparison as entries: a parent with the leaderboard and the page, and a child per line of the summary.

It computes nothing: every figure is the summary's own, to the last digit.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from flashbench.fingerprint import accelerator, digest, weights_in
from flashbench.settings import Settings
from flashbench.track.entry import Attachment, Entry, as_params, as_tags
from flashbench.track.note import leaderboard_note
from flashbench.track.send import send

Line = Mapping[str, Any]

HEADLINES = ("accept_length", "speedup_decode", "speedup_e2e", "identical_share",
             "ttft_ms", "tpot_ms", "output_tps")
INTERVALS = ("accept_length", "speedup_decode", "speedup_e2e")
COUNTS = ("prompts", "tokens", "rounds")
BY_POSITION = {"verification/acceptance_rate_pos": "acceptance_by_position",
               "verification/acceptance_rate_cond": "acceptance_given_previous"}
"""Metric -> the list of the summary's line that it is taken from, one metric per position of the draft.

The UI sorts metrics by name and shows each `group/` in a section of its own, so what is read first is in no group.
"""


def log_comparison(settings: Settings, summary: Mapping[str, Any], report: Path | None,
                   figures: Path | None) -> list[str]:
    """The comparison and its children; returns the line that says what MLflow did not take (none: it took all).

    summary  what bench wrote to summary.json
    """
    return send(settings, comparison_entries(settings, summary, report, figures))


def comparison_entries(settings: Settings, summary: Mapping[str, Any], report: Path | None,
                       figures: Path | None) -> list[Entry]:
    """The parent, then its children in the order of the summary.

    MLflow shows the run that started last first: so each is dated a millisecond before the one above it.
    """
    measured = round(1000 * datetime.fromisoformat(summary["measured_at"]).timestamp())
    lines, tags = summary["rows"], _common_tags(settings, summary)
    files = [settings.run / "summary.json", settings.run / "bench" / "rows.parquet", report, figures]
    parent = Entry(
        key=digest([settings.name, summary["result"]]), name=f"compare · {settings.name}", at=measured,
        seconds=sum(sum(line["seconds"].values()) for line in lines), tags=as_tags({**tags, "kind": "comparison"}),
        params=as_params({**summary["conditions"], "commit": summary["fingerprint"]["code"]["commit"]}), points=(),
        note=leaderboard_note(summary), tables={"leaderboard.json": _table(summary)},
        attachments=[Attachment.of(path) for path in files if path is not None and path.exists()])
    names = _names(lines)
    return [parent, *(_child(settings, summary, parent, place, names[place]) for place in range(len(lines)))]


def _child(settings: Settings, summary: Mapping[str, Any], parent: Entry, place: int, name: str) -> Entry:
    line = summary["rows"][place]
    what = {"target": line["target"], "task": line["task"], "method": line["method"],
            "temperature": line["temperature"]}
    draft = {f"draft.{key}": value for key, value in settings.drafts.get(line["method"], {}).items()}
    return Entry(
        key=digest([parent.key, line]), name=name, at=parent.at - 1 - place, seconds=sum(line["seconds"].values()),
        tags=as_tags({**_common_tags(settings, summary), **what, "kind": "method", "comparison": parent.key}),
        params=as_params({**what, **{key: line[key] for key in COUNTS}, **draft}),
        points=[(key, float(value), 0) for key, value in _metrics(line) if value is not None],
        parent=parent.key, draft=weights_in(summary["fingerprint"]["drafts"].get(line["method"], "")) or None)


def _common_tags(settings: Settings, summary: Mapping[str, Any]) -> dict[str, Any]:
    machine = summary["fingerprint"]["machine"]
    return {"experiment": settings.name, "claim_level": summary["claim_level"], "quotable": summary["quotable"],
            "hardware": accelerator(machine)}


def _metrics(line: Line) -> Iterator[tuple[str, float | None]]:
    yield from ((key, line[key]) for key in HEADLINES)
    for key in INTERVALS:
        low, high = line[f"{key}_interval"]
        yield from ((f"uncertainty/{key}_low", low), (f"uncertainty/{key}_high", high))
    for name, key in BY_POSITION.items():
        yield from ((f"{name}{place}", share) for place, share in enumerate(line[key]))


def _names(lines: Sequence[Line]) -> list[str]:
    """`instruct · specflash`; the target and the temperature are named where there are several."""
    targets = {line["target"] for line in lines}
    temperatures = {line["temperature"] for line in lines}
    return [" · ".join([line["task"], line["method"], *([line["target"]] if len(targets) > 1 else []),
                        *([f"T={line['temperature']:g}"] if temperatures != {0.0} else [])]) for line in lines]


def _table(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The leaderboard as MLflow's table view reads it, best known first: what it is about, then the headlines."""
    lines = [*summary["rows"], *summary["overall"]]
    rows = [{**{key: line[key] for key in ("target", "task", "method")}, "temperature": line["temperature"],
             **dict(_metrics({**line, **dict.fromkeys(BY_POSITION.values(), ())})),
             **{key: line[key] for key in COUNTS}} for line in lines]
    return {"columns": list(rows[0]), "data": [list(row.values()) for row in rows]}
