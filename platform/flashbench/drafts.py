"""The drafts of an experiment, ready to draft: from their folders, or made where nothing is trained.

It knows no draft by name, and neither who measures it nor who serves it.
"""

from pathlib import Path

from flashbench.fingerprint import digest, draft_fingerprint, with_drafting
from flashbench.settings import Settings
from specflash.catalogue import pick
from specflash.drafts import DRAFTS
from specflash.drafts.base import Draft
from specflash.drafts.store import (
    WEIGHTS,
    check_draft,
    check_settings,
    decoding_settings,
    load_draft,
    make_config,
    make_draft,
    read_config,
)
from specflash.errors import UserError
from specflash.targets.base import Target


def weights_of(name: str) -> str | None:
    """The draft in whose folder its weights lie; None where it has none. Raises UserError for an unknown draft."""
    kind = pick(DRAFTS, name, "method")
    return name if kind.trainable else kind.weights_of


def ready_draft(settings: Settings, name: str, target: Target) -> Draft:
    """Attached and in eval mode."""
    lender = weights_of(name)
    if lender:
        return load_draft(settings.draft_folder(lender), target, name, settings.drafts.get(name, {}))
    return _made(settings, name, target.width).to(target.device).attach(target.ends).eval()


def what_it_follows_from(settings: Settings, name: str) -> str:
    """Hash of the weights, and behind a point that of how they draft, where that is not as they were saved.

    Raises UserError for a draft that is yet to be trained.
    """
    lender = weights_of(name)
    if not lender:
        return digest([name, _made(settings, name, width=1).config.model_dump(mode="json")])
    folder = _trained(settings, name, lender)
    saved = read_config(folder)["draft"]
    drafting = make_config(name, decoding_settings(name, saved, settings.drafts.get(name, {})), saved.get("width", 1))
    drafting = drafting.model_dump(mode="json")
    as_saved = name == lender and all(saved.get(key, value) == value for key, value in drafting.items())
    weights = draft_fingerprint(folder)
    return weights if as_saved else with_drafting(weights, [name, drafting])


def _made(settings: Settings, name: str, width: int) -> Draft:
    return make_draft(name, settings.drafts.get(name, {}), width)


def _trained(settings: Settings, name: str, lender: str) -> Path:
    """The folder of its weights, once they are known to be whole and to be what the settings ask for."""
    folder = settings.draft_folder(lender)
    if not (folder / WEIGHTS).is_file():
        raise UserError(f"no trained draft `{lender}` in {folder}; run `specflash train --draft {lender}` first")
    check_draft(folder)
    check_settings(folder, settings.drafts.get(name, {}), name)
    return folder
