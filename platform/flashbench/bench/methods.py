"""The methods a benchmark compares: one target, loaded once, and the drafts attached to it.

It knows no prompt and keeps no time.
"""

from dataclasses import dataclass

import torch

from flashbench.bench.rows import VANILLA
from flashbench.drafts import ready_draft, what_it_follows_from
from flashbench.fingerprint import digest, engine_fingerprint
from flashbench.settings import Settings
from specflash.drafts.base import Draft
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
    return Engine(target, {name: ready_draft(settings, name, target) for name in (VANILLA, *draft_names(settings))})


def draft_names(settings: Settings) -> list[str]:
    """The methods besides vanilla that the settings name."""
    return [name for name in settings.bench.methods if name != VANILLA]


def draft_fingerprints(settings: Settings) -> dict[str, str]:
    """Hash per draft. Raises UserError for an unknown draft, and one that has not been trained."""
    return {name: what_it_follows_from(settings, name) for name in draft_names(settings)}


def conditions_fingerprint(settings: Settings, dtype: str) -> str:
    """What every method's output depends on besides its draft: target, number format, code."""
    target = settings.target
    return digest([target.name, target_fingerprint(target.name, target.weights), dtype, target.device,
                   settings.threads, engine_fingerprint()])
