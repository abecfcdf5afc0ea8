"""What a trained draft follows from, so that a changed recipe is never taken for a finished one.

It knows no training. The same recipe names the run whose checkpoints are continued.
"""

import json
from hashlib import sha256
from pathlib import Path

from flashbench.dump.store import FeatureStore
from flashbench.settings import Settings
from specflash.drafts import Draft
from specflash.errors import UserError

RUNNING = {"cpus_per_worker", "gpu", "checkpoint_every", "max_failures"}
"""Settings of `train` that change how it runs, not what comes out."""

RECORD = "training.json"


def recipe_of(settings: Settings, draft: Draft, store: FeatureStore) -> dict[str, str]:
    """Everything the weights of `draft` follow from, as `name -> JSON text`."""
    shaping = {
        "target": store.manifest.fingerprint,
        "features": store.manifest.settings_hash,
        "samples": sha256("\n".join(store.ids()).encode()).hexdigest()[:16],
        **{f"drafts.{draft.name}.{key}": value
           for key, value in draft.config.model_dump(mode="json").items()},
        **{f"train.{key}": value for key, value in settings.train.model_dump(mode="json").items()
           if key not in RUNNING},
    }
    return {key: json.dumps(value) for key, value in shaping.items()}


def recipe_hash(recipe: dict[str, str]) -> str:
    return sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:12]


def finished_record(folder: Path, recipe: dict[str, str]) -> dict | None:
    """The record of the finished draft in `folder`; None where there is none.

    Raises UserError where it holds a draft of another recipe.
    """
    if not (folder / RECORD).is_file():
        return None
    record = json.loads((folder / RECORD).read_text())
    changed = [f"{key} {record['recipe'].get(key, 'unset')} → {recipe.get(key, 'unset')}"
               for key in sorted(record["recipe"].keys() | recipe.keys())
               if record["recipe"].get(key) != recipe.get(key)]
    if changed:
        raise UserError(f"{folder} holds a draft of another recipe ({'; '.join(changed)}): set `run` to "
                        "another folder, move that draft away, or change the settings back")
    return record
