"""Answer files of EAGLE, Spec-Bench and FlashSD, cleaned for `specflash compare`. It judges no answer.

`compare` refuses a file with a damaged line; here such a line is set aside with its reason, and all others are
written in EAGLE's layout, one file per file.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flashbench.compare.answers import FAULTS, fault, one_answer
from flashbench.console import note, progress
from flashbench.dump.account import Account
from flashbench.dump.quarantine import Quarantined, write_quarantine
from specflash.errors import UserError
from specflash.files import write_whole


def import_answers(folder: Path, files: Sequence[Path]) -> Account:
    """Every line of the files written to `folder`, repeated or in quarantine. Raises UserError where none is good."""
    started, written, repeated, bad = time.monotonic(), 0, 0, []
    folder.mkdir(parents=True, exist_ok=True)
    places = _places(folder, files)
    with progress("import answers", len(files)) as advance:
        for file, place in places.items():
            kept: dict[tuple[str, str], dict[str, Any]] = {}
            for number, line in _lines(file):
                try:
                    answer = one_answer(line, file.stem)
                except FAULTS as error:
                    bad.append(Quarantined("answers", number, None, f"{file}, line {number}: {fault(error)}"))
                    continue
                repeated += (answer.method, answer.question) in kept
                kept.setdefault((answer.method, answer.question), answer.in_eagles_layout())
            _write(place, kept.values())
            written += len(kept)
            advance()
    write_quarantine(folder, "answers", bad)
    account = Account(total=written + repeated + len(bad), written=written, duplicates=repeated, quarantined=len(bad),
                      seconds=time.monotonic() - started)
    if not written:
        raise UserError(f"no line of {files[0]} is an answer of EAGLE or FlashSD ({bad[0].reason})" if bad else
                        f"{files[0]} has no answers")
    note(f"{account} in {', '.join(str(place) for place in places.values())}")
    return account


def _places(folder: Path, files: Sequence[Path]) -> dict[Path, Path]:
    """Where each file's answers go. Raises UserError where two would go to one place."""
    places = {file: folder / f"{file.stem}.jsonl" for file in files}
    if len(set(places.values())) < len(places):
        raise UserError("two of the answer files have the same name: import them into different runs, or rename one")
    return places


def _lines(file: Path) -> list[tuple[int, bytes]]:
    return [(number, line) for number, line in enumerate(file.read_bytes().splitlines(), start=1) if line.strip()]


def _write(place: Path, answers: Sequence[dict[str, Any]]) -> None:
    write_whole(place, "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers).encode())
