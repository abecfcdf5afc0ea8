"""Run folders for the tests of the report: the scripted run, and what can be otherwise about one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.flashbench.scripted import scripted_run

Record = dict[str, Any]
FAILURE = {"check": "float32", "task": "instruct", "sample": "p2", "method": "drafty", "tokens": 7, "position": 3,
           "gap": 0.25}
CONTROL = {"target": "tiny", "task": "instruct", "temperature": 0.0, "label": "instruct", "out_of_domain": False,
           "method": "hf-prompt-lookup", "refused": [], "prompts": 2, "answers": 2, "identical_share": 0.5,
           "tie_share": 0.5, "speedup_e2e": 1.3333333333333333, "speedup_e2e_interval": [1.0, 1.625]}


def run_folder(folder: Path) -> Path:
    """The scripted run, with two outside controls and with two answers to show."""
    scripted_run(folder)
    change_summary(folder, as_format_2)
    change_rows(folder, lambda row: {"pieces": ["A", " red", " bo", "at", " on", " <i>", " sea"]}
                if row["method"] != "hf-generate" else {})
    return folder


def as_format_2(summary: Record) -> Record:
    """The summary with every key of the second format."""
    for line in summary["rows"] + summary["overall"]:
        line |= {"temperature": 0.0, "label": line["task"], "refused": [], "tie_share": 0.0} | line
    noise = {"target": "tiny", "prompts": 2, "band": 0.1, "ratio": 1.0625, "interval": [1.0, 1.125], "verdict": "quiet"}
    summary.pop("control", None)
    controls = [CONTROL | {"method": "hf-generate", "speedup_e2e": 0.9765625}, CONTROL]
    summary["conditions"]["temperature"] = "0"
    return summary | {"format": 2, "controls": controls, "noise": [noise], "refusals": [], "failures": []}


def verdict(summary: Record, **other: Any) -> Record:
    """The gate's verdict on the weights that were timed."""
    return {"lossless": True, "failures": [], "fingerprint": {"drafts": summary["fingerprint"]["drafts"]},
            "lines": [{"check": "float32", "what": "float32, token for token", "method": "drafty", "answers": 2,
                       "tokens": 14, "equal": 2}]} | other


def summary_of(folder: Path) -> Record:
    return json.loads((folder / "summary.json").read_text())


def change_summary(folder: Path, change: Callable[[Record], Record]) -> None:
    (folder / "summary.json").write_text(json.dumps(change(summary_of(folder))))


def every_line(summary: Record, change: Callable[[Record], None]) -> Record:
    for line in summary["rows"] + summary["overall"]:
        change(line)
    return summary


def change_rows(folder: Path, change: Callable[[Record], Record], copies: int = 1) -> None:
    """Every row with what `change` makes of it, `copies` times over with a sample of its own."""
    path = folder / "bench" / "rows.parquet"
    rows = [{"temperature": 0.0} | row for row in pq.read_table(path).to_pylist()]
    changed = [row | {"sample": f"{row['sample']}-{copy}" if copy else row["sample"]} | change(row)
               for copy in range(copies) for row in rows]
    pq.write_table(pa.Table.from_pylist(changed), path)


def refuse(folder: Path, reason: str) -> None:
    """The draft's speed-ups are refused."""
    def to_nothing(line: Record) -> None:
        if line["method"] == "drafty":
            line |= {key: [None, None] if key.endswith("interval") else None for key in line if "speedup" in key}
            line["refused"] = [reason]
    change_summary(folder, lambda summary: every_line(summary, to_nothing))
