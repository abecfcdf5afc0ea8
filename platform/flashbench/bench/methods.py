"""The methods a benchmark compares: one target, loaded once, and the drafts attached to it.

It knows no prompt and keeps no time.
"""

from dataclasses import dataclass
from pathlib import Path

import torch

from flashbench.bench.rows import VANILLA
from flashbench.draft_settings import check_saved
from flashbench.fingerprint import digest, draft_fingerprint, engine_fingerprint
from flashbench.settings import Settings
from specflash.drafts.base import Draft
from specflash.drafts.store import load_draft
from specflash.drafts.vanilla import Vanilla, VanillaConfig
from specflash.errors import UserError
from specflash.targets import load_target, target_fingerprint
from specflash.targets.base import Target


@dataclass(frozen=True)
class Engine:
    """A loaded target and every method that drafts for it, by name; vanilla is always among them."""

    target: Target
    drafts: dict[str, Draft]


def load_engine(settings: Settings, dtype: str) -> Engine:
    torch.set_num_threads(settings.threads)
    choice = settings.target
    target = load_target(choice.name, choice.weights, dtype, choice.device)
    drafts: dict[str, Draft] = {VANILLA: Vanilla(VanillaConfig(width=target.width)).attach(target.ends)}
    for name in draft_names(settings):
        drafts[name] = load_draft(settings.draft_folder(name), target).eval()
    return Engine(target, drafts)


def draft_names(settings: Settings) -> list[str]:
    """The methods besides vanilla that the settings name."""
    return [name for name in settings.bench.methods if name != VANILLA]


def draft_fingerprints(settings: Settings) -> dict[str, str]:
    """Hash per draft. Raises UserError for a draft that has not been trained, or with other settings."""
    return {name: draft_fingerprint(_trained(settings, name)) for name in draft_names(settings)}


def conditions_fingerprint(settings: Settings, dtype: str) -> str:
    """What every method's output depends on besides its draft: target, number format, code."""
    target = settings.target
    return digest([target.name, target_fingerprint(target.name, target.weights), dtype, target.device,
                   settings.threads, engine_fingerprint()])


def _trained(settings: Settings, name: str) -> Path:
    folder = settings.draft_folder(name)
    if not (folder / "model.safetensors").is_file():
        raise UserError(f"no trained draft `{name}` in {folder}; run `specflash train --draft {name}` first")
    check_saved(settings, name)
    return folder
