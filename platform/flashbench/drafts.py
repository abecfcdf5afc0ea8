"""The drafts of an experiment, ready to draft: from their folders, or made where nothing is trained.

It knows no draft by name, and neither who measures it nor who serves it.
"""

from pathlib import Path

from flashbench.fingerprint import digest, draft_fingerprint
from flashbench.settings import Settings
from specflash.catalogue import pick
from specflash.drafts import DRAFTS
from specflash.drafts.base import Draft
from specflash.drafts.store import WEIGHTS, check_draft, check_settings, load_draft, make_draft
from specflash.errors import UserError
from specflash.targets.base import Target


def needs_training(name: str) -> bool:
    """Whether the draft has a folder of weights. Raises UserError for an unknown draft."""
    return pick(DRAFTS, name, "method").trainable


def ready_draft(settings: Settings, name: str, target: Target) -> Draft:
    """Attached and in eval mode. Its settings count where nothing is trained; else what was saved does."""
    if needs_training(name):
        return load_draft(settings.draft_folder(name), target)
    return _made(settings, name, target.width).to(target.device).attach(target.ends).eval()


def what_it_follows_from(settings: Settings, name: str) -> str:
    """Hash of the weights and the configuration. Raises UserError for a draft that is yet to be trained."""
    if needs_training(name):
        return draft_fingerprint(_trained(settings, name))
    return digest([name, _made(settings, name, width=1).config.model_dump(mode="json")])


def _made(settings: Settings, name: str, width: int) -> Draft:
    return make_draft(name, settings.drafts.get(name, {}), width)


def _trained(settings: Settings, name: str) -> Path:
    """Its folder, once it is known to be whole and to be what the settings ask for."""
    folder = settings.draft_folder(name)
    if not (folder / WEIGHTS).is_file():
        raise UserError(f"no trained draft `{name}` in {folder}; run `specflash train --draft {name}` first")
    check_draft(folder)
    check_settings(folder, settings.drafts.get(name, {}))
    return folder
