"""What one MLflow run is to hold, as plain data: it can lie in a file until MLflow takes it. It knows no MLflow."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

MOST_PARAMS = 100
LONGEST_PARAM = 500
LONGEST_TAG = 5000
"""MLflow takes 100 parameters at once, 6,000 characters in each and 8,000 in a tag; older servers 500 and 5,000."""


@dataclass(frozen=True)
class Attachment:
    """A file or folder that goes to the run's artifacts, and the hash of what was in it then."""

    path: str
    digest: str

    @classmethod
    def of(cls, path: Path) -> "Attachment":
        return cls(str(path.resolve()), content_digest(path))


@dataclass(frozen=True)
class Entry:
    """One run.

    key       hash of what the run reports: there is one run of each key
    at        milliseconds since 1970 when it was measured; writing the entry twice writes the same points twice
    seconds   how long that took
    points    (metric, value, step)
    note      markdown, shown above the run's figures
    tables    artifact name -> {"columns": [...], "data": [[...], ...]}
    parent    key of the entry whose run this one lies under
    draft     fingerprint of the draft that it is about: its training's run is looked up by it
    open      more is to come under the same key: the run is not ended
    """

    key: str
    name: str
    at: int
    seconds: float
    tags: Mapping[str, str]
    params: Mapping[str, str]
    points: Sequence[tuple[str, float, int]]
    note: str = ""
    tables: Mapping[str, Any] = field(default_factory=dict)
    attachments: Sequence[Attachment] = ()
    parent: str | None = None
    draft: str | None = None
    open: bool = False

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, content: bytes) -> "Entry":
        """Raises ValueError, KeyError or TypeError where this is no entry."""
        tree = json.loads(content)
        attachments = tuple(Attachment(**one) for one in tree.pop("attachments"))
        points = tuple((str(name), float(value), int(step)) for name, value, step in tree.pop("points"))
        return cls(**tree, attachments=attachments, points=points)


def as_params(values: Mapping[str, Any]) -> dict[str, str]:
    """Within MLflow's limits: long values are cut, and of too many the first are taken and the rest counted."""
    params = {key: cut(str(value), LONGEST_PARAM) for key, value in values.items()}
    if len(params) <= MOST_PARAMS:
        return params
    kept = dict(list(params.items())[:MOST_PARAMS - 1])
    return {**kept, "params_left_out": str(len(params) - len(kept))}


def as_tags(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: cut(str(value), LONGEST_TAG) for key, value in values.items()}


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length - 1] + "…"


def content_digest(path: Path) -> str:
    """16 hex digits of a file, or of all files of a folder with their names."""
    found = sha256()
    for file in _files(path):
        found.update(os.fsencode(file.relative_to(path)) + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from sorted(file for file in path.rglob("*") if file.is_file())
