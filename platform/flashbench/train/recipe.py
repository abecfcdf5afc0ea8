"""What a trained draft follows from, so that a changed recipe is never taken for a finished one.

It knows no training. The same recipe names the run whose checkpoints are continued.
"""

import json
from hashlib import sha256
from pathlib import Path

from flashbench.console import note
from flashbench.settings import Settings
from flashbench.train.data import Source
from flashbench.train.start import Start
from specflash.drafts import Draft
from specflash.drafts.store import check_draft, read_config
from specflash.errors import UserError

RUNNING = {"cpus_per_worker", "gpu", "checkpoint_every", "max_failures"}
"""Settings of `train` that change how it runs, not what comes out."""

PLACES = {"start"}
"""Settings of `train` that say where something lies; what lies there counts."""

RECORD = "training.json"
FIGURES = {"parameters", "steps", "seconds"}
"""What a whole record has besides its recipe and its curves."""


def recipe_of(settings: Settings, draft: Draft, store: Source, start: Start | None) -> dict[str, str]:
    """Everything the weights of `draft` follow from, as `name -> JSON text`."""
    shaping = {
        "target": store.manifest.fingerprint,
        "features": store.manifest.settings_hash,
        "samples": sha256("\n".join(store.ids()).encode()).hexdigest()[:16],
        **{f"drafts.{draft.name}.{key}": value for key, value in draft.config.model_dump(mode="json").items()
           if key not in draft.config.decoding},
        **{f"train.{key}": value for key, value in settings.train.model_dump(mode="json").items()
           if key not in RUNNING | PLACES},
    }
    if settings.train.features == "stored":
        del shaping["train.features"]  # so are the drafts that were trained before there was another way
    if start is not None:
        shaping["start"] = start.fingerprint
    return {key: json.dumps(value) for key, value in shaping.items()}


def recipe_hash(recipe: dict[str, str]) -> str:
    return sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:12]


def finished_record(folder: Path, recipe: dict[str, str]) -> dict | None:
    """The record of the finished draft in `folder`; None where there is none, or only a broken one.

    A broken one is made again, from the last checkpoint of its recipe if that is there. Raises
    UserError where the folder holds a draft of another recipe, be it broken or not.
    """
    if not folder.is_dir():
        return None
    record = _read_record(folder / RECORD)
    made_with = record["recipe"] if record else _recipe_in_config(folder)
    if made_with is not None:
        _check_same(folder, made_with, recipe)
    try:
        check_draft(folder)
    except UserError as error:
        if (folder / RECORD).is_file():
            note(f"{folder} counts as unfinished and its draft is made again ({error})")
        return None
    if record is None and (folder / RECORD).is_file():
        note(f"{folder} counts as unfinished and its draft is made again ({RECORD} is damaged)")
    return record


def _read_record(path: Path) -> dict | None:
    """training.json; None where it is missing or damaged."""
    try:
        record = json.loads(path.read_bytes())
        whole = isinstance(record["recipe"], dict) and record["curves"] and record.keys() >= FIGURES
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return record if whole else None


def _recipe_in_config(folder: Path) -> dict | None:
    """What config.json says of the recipe, for a draft whose record is not there."""
    try:
        recipe = read_config(folder)["extra"].get("recipe")
    except (UserError, KeyError, AttributeError):
        return None
    return recipe if isinstance(recipe, dict) else None


def _check_same(folder: Path, made_with: dict[str, str], recipe: dict[str, str]) -> None:
    changed = [f"{key} {made_with.get(key, 'unset')} → {recipe.get(key, 'unset')}"
               for key in sorted(made_with.keys() | recipe.keys()) if made_with.get(key) != recipe.get(key)]
    if changed:
        raise UserError(f"{folder} holds a draft of another recipe ({'; '.join(changed)}): set `run` to "
                        "another folder, move that draft away, or change the settings back")
