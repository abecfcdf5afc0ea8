"""An experiment as plain values, before they are checked: its file, overrides, another run folder.

It knows no section and no setting but the names of those that hold a path.
"""

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from specflash.errors import UserError, one_line

PATHS = ("run", "path", "weights")


def read_tree(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Raises UserError where there is none."""
    if not path.is_file():
        raise UserError(f"{path} is a folder; name the settings file in it" if path.is_dir()
                        else f"no settings file at {path}")
    try:
        tree = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or a number that is none
        raise UserError(f"{path} is not valid YAML: {one_line(error)}") from None
    except RecursionError:
        raise UserError(f"{path} is not valid YAML: it is nested too deeply") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path} must hold a mapping of settings")
    return tree


def overridden(tree: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """The tree with each `section.key=value` in its place.

    Where one of them moves the run folder, the file's own paths inside it move along; what an
    override names stays what it names.
    """
    changed = deepcopy(tree)
    for text in overrides:
        override(changed, text)
    old, new = tree.get("run"), changed.get("run")
    if not (isinstance(old, str) and isinstance(new, str) and "" != new != old):
        return changed
    tree = moved(tree, old, new)
    for text in overrides:
        override(tree, text)
    return tree


def override(tree: dict[str, Any], text: str) -> None:
    """Put the value of `section.key=value` in its place; the value is YAML."""
    key, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"`{text}` is not an override; write section.key=value")
    *parents, last = key.split(".")
    node = tree
    for parent in parents:
        node = node.setdefault(parent, {})
        if not isinstance(node, dict):
            raise UserError(f"`{key}`: `{parent}` is a value, not a section")
    try:
        node[last] = yaml.safe_load(value)
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"`{key}`: `{value}` is not valid YAML ({one_line(error)}); quote it if it is text") from None


def moved(value: Any, old: str, new: str) -> Any:
    """Every path inside the run folder `old`, moved to the run folder `new` (drawn data lie inside it)."""
    if isinstance(value, list):
        return [moved(part, old, new) for part in value]
    if not isinstance(value, dict):
        return value
    return {key: _moved_path(part, old, new) if key in PATHS else moved(part, old, new)
            for key, part in value.items()}


def _moved_path(value: Any, old: str, new: str) -> Any:
    """However the two are written: `runs/demo/` is `./runs/demo`."""
    if not isinstance(value, str) or not Path(value).is_relative_to(old):
        return value
    return str(Path(new) / Path(value).relative_to(old))
