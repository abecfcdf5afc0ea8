"""What the checks found, as a file, a table and plain words. It checks nothing."""

import json
from collections.abc import Sequence
from pathlib import Path

from flashbench.console import note, table
from flashbench.prepare.check import Checked
from specflash.files import write_whole

FILE = "report.json"
VERSION = 1
LISTED = 200  # faults and missing clips that the file names
TOLD = 3  # and the terminal


def write_report(folder: Path, checks: Sequence[Checked]) -> Path:
    """Writes FOLDER/report.json; left untouched where it says the same already."""
    path = folder / FILE
    data = (json.dumps({"version": VERSION, "sources": [_as_tree(one) for one in checks]}, indent=1,
                       ensure_ascii=False) + "\n").encode(errors="backslashreplace")
    folder.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_bytes() != data:
        write_whole(path, data)
    return path


def _as_tree(one: Checked) -> dict:
    return {
        "used_by": one.use, "dataset": one.dataset, "split": one.split, "path": one.path and str(one.path),
        "samples": one.samples, "usable": one.usable, "pictures": one.pictures, "clips": one.clips,
        "decoded": one.examined, "broken": one.broken,
        "missing": {"count": len(one.missing), "first": list(one.missing[:LISTED])},
        "faults": {"count": len(one.faults), "first": [
            {"where": fault.where, "reason": fault.reason} for fault in one.faults[:LISTED]]},
        "duplicates": one.duplicates, "unanswered": one.unanswered,
        "too_long": {"encoded": one.encoded, "count": one.too_long}, "trained_on": one.trained_on,
        "words": {"least": min(one.words, default=None), "median": one.median_words(),
                  "most": max(one.words, default=None), "histogram": [
                      {"from": low, "below": high, "samples": count} for low, high, count in one.histogram()]}}


def show_report(checks: Sequence[Checked]) -> None:
    """The table on stdout; what is wrong in plain words on stderr."""
    table("data", ("used by", "data set", "samples", "usable", "decoded", "bad", "missing", "repeated", "unanswered",
                   "words (median)", "folder"), [_row(one) for one in checks])
    for one in checks:
        for line in told(one):
            note(line)


def _row(one: Checked) -> tuple[object, ...]:
    words = f"{one.words[0]}–{one.words[-1]} ({one.median_words():g})" if one.words else "–"
    return (one.use, f"{one.dataset}:{one.split}", one.samples, one.usable,
            f"{one.examined}/{one.pictures + one.clips}", len(one.faults), len(one.missing), one.duplicates,
            "–" if one.unanswered is None else one.unanswered, words, one.path or "(installed)")


def told(one: Checked) -> list[str]:
    """What a person has to know of a source, one line each; nothing where all is well."""
    lines = []
    if one.trained_on:
        lines.append(f"WARNING: {one.use}: {one.trained_on} of {one.samples} samples show what dump.source shows too: "
                     "the drafts would be measured on what they were trained on; choose another split or `skip`")
    lines += [f"{one.use}: {fault.where}: {fault.reason}" for fault in one.faults[:TOLD]]
    if len(one.faults) > TOLD:
        lines.append(f"{one.use}: {len(one.faults) - TOLD} more samples are bad; the report lists them")
    if one.missing:
        lines.append(f"{one.use}: {len(one.missing)} listed clips are not in the folder ({one.missing[0]}, …)")
    if one.duplicates:
        lines.append(f"{one.use}: {one.duplicates} samples repeat an earlier one; the dump takes each once")
    if one.unanswered:
        lines.append(f"{one.use}: {one.unanswered} samples have no answer to learn from; dump.answers=target would "
                     "give them the target's own")
    if one.too_long:
        lines.append(f"{one.use}: {one.too_long} of {one.encoded} encoded samples are longer than dump.max_length; the "
                     "dump leaves such samples out")
    return lines
