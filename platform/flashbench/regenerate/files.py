"""Answered samples as the files that the `llava-instruct` and `jsonl` readers take. It knows no target.

    llava_instruct_SPLIT.json   a list of entries
    SPLIT.jsonl                 the same, one a line
    media/                      pictures that lay in no file of their own

An entry names its media relative to the folder, so both may be moved together.
"""

import json
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from specflash.files import write_whole
from specflash.records import Picture

MARKER = "<image>"
ENDINGS = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp", b"BM": "bmp"}


def entry_of(folder: Path, id: str, pictures: Iterable[Picture], answered: dict[str, Any]) -> dict[str, Any]:
    """LLaVA-Instruct's entry. `temperature`, and per answer whether a limit cut it, are ours; readers skip them."""
    names = [reference(folder, picture) for picture in pictures]
    media = {"image": names[0] if len(names) == 1 else names} if names else {}
    return {"id": id, **media, "conversations": _messages(answered["turns"], len(names)),
            "temperature": answered["temperature"], "cut": answered["cut"]}


def _messages(turns: list[list[str]], pictures: int) -> list[dict[str, str]]:
    messages = []
    for number, (question, answer) in enumerate(turns):
        shown = (MARKER + "\n") * (pictures if number == 0 else 0)
        messages += [{"from": "human", "value": shown + question}, {"from": "gpt", "value": answer}]
    return messages


def reference(folder: Path, picture: Picture) -> str:
    """The picture's path relative to `folder`; one that is only bytes is written below it first."""
    if isinstance(picture, bytes):
        ending = next((name for magic, name in ENDINGS.items() if picture.startswith(magic)), "picture")
        path = folder / "media" / f"{sha256(picture).hexdigest()[:32]}.{ending}"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, picture)
        picture = path
    return os.path.relpath(picture.absolute(), folder.absolute())


def write_entries(folder: Path, split: str, entries: list[dict[str, Any]]) -> list[Path]:
    """Both files, each whole or as it was."""
    lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
    listed, lined = folder / f"llava_instruct_{split}.json", folder / f"{split}.jsonl"
    write_whole(listed, ("[\n" + ",\n".join(lines) + "\n]\n").encode())
    write_whole(lined, "".join(line + "\n" for line in lines).encode())
    return [listed, lined]
