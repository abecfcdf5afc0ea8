"""Looking up a variant by name in a plain dictionary.

It knows nothing about the variants: TARGETS, DRAFTS and DATASETS are ordinary dictionaries.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from specflash.errors import UserError

Entry = TypeVar("Entry")


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, or nothing where no known name is close."""
    match = get_close_matches(name, list(known), n=1)
    return f" (did you mean `{match[0]}`?)" if match else ""


def pick(catalogue: Mapping[str, Entry], name: str, kind: str) -> Entry:
    """The entry called `name`; raises UserError that lists the known names otherwise."""
    if name not in catalogue:
        known = ", ".join(sorted(catalogue))
        raise UserError(f"unknown {kind} `{name}`{nearest(name, catalogue)}; known: {known}")
    return catalogue[name]
