"""Answered samples as the files that the `llava-instruct` and `jsonl` readers take. It knows no target.

    llava_instruct_SPLIT.json   a list of entries
    SPLIT.jsonl                 the same, one a line
    media/                      links to the samples' media; files, where they lay in none of their own

An entry names what is in the folder, as readers demand. The links are relative: a folder moves with its data set.
"""

import json
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from specflash.errors import UserError
from specflash.files import write_whole
from specflash.records import Clip, Medium, Picture

ENDINGS = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp", b"BM": "bmp"}


def entry_of(folder: Path, id: str, media: Sequence[Medium], answered: dict[str, Any]) -> dict[str, Any]:
    """LLaVA-Instruct's entry. `temperature`, and per answer whether a limit cut it, are ours; readers skip them.

    Raises UserError for a part of a video: an entry names whole ones only.
    """
    named: dict[str, list[str]] = {}
    for medium in media:
        named.setdefault("video" if isinstance(medium, Clip) else "image", []).append(reference(folder, medium))
    shown = {kind: names[0] if len(names) == 1 else names for kind, names in named.items()}
    markers = "".join(f"<{kind}>\n" * len(names) for kind, names in named.items())
    return {"id": id, **shown, "conversations": _messages(answered["turns"], markers),
            "temperature": answered["temperature"], "cut": answered["cut"]}


def _messages(turns: list[list[str]], markers: str) -> list[dict[str, str]]:
    messages = []
    for number, (question, answer) in enumerate(turns):
        asked = question if number else markers + question
        messages += [{"from": "human", "value": asked}, {"from": "gpt", "value": answer}]
    return messages


def reference(folder: Path, medium: Medium) -> str:
    """The medium's name in `folder`, where it is linked, or written if it is only bytes."""
    source = medium
    if isinstance(medium, Clip):
        if medium.start is not None or medium.end is not None:
            raise UserError("the source shows parts of videos, which a LLaVA-Instruct entry cannot name: cut them out "
                            "into files of their own first")
        source = medium.source
    known = sha256(source if isinstance(source, bytes) else str(source.absolute()).encode()).hexdigest()[:32]
    path = folder / "media" / f"{known}.{_ending(source)}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, bytes):
            write_whole(path, source)
        else:
            path.unlink(missing_ok=True)  # a link whose file has moved
            path.symlink_to(os.path.relpath(source.absolute(), path.parent.absolute()))
    return str(path.relative_to(folder))


def _ending(source: Picture) -> str:
    if isinstance(source, Path):
        return source.suffix.removeprefix(".") or "file"
    return next((name for magic, name in ENDINGS.items() if source.startswith(magic)), "file")


def write_entries(folder: Path, split: str, entries: list[dict[str, Any]]) -> list[Path]:
    """Both files, each whole or as it was."""
    lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
    listed, lined = folder / f"llava_instruct_{split}.json", folder / f"{split}.jsonl"
    write_whole(listed, ("[\n" + ",\n".join(lines) + "\n]\n").encode())
    write_whole(lined, "".join(line + "\n" for line in lines).encode())
    return [listed, lined]
