"""The methods a benchmark compares: one target, loaded once, the drafts attached to it, and outside controls.

It knows no prompt and keeps no time.
"""

from dataclasses import dataclass, replace

import torch
from transformers import PreTrainedModel

from flashbench.bench.control import CONTROLS, hf_generate, load_assistant
from flashbench.bench.rows import AGAIN, VANILLA
from flashbench.drafts import ready_draft, what_it_follows_from
from flashbench.fingerprint import digest, engine_fingerprint
from flashbench.settings import Settings
from specflash.decoding import generate
from specflash.drafts.base import Draft
from specflash.records import Generation, Prompt
from specflash.sampling import Sampling
from specflash.targets import load_target, target_fingerprint
from specflash.targets.base import Target


@dataclass(frozen=True)
class Engine:
    """A loaded target and every method that drafts for it, by name; vanilla is always among them.

    assistant  what the control hf-assisted drafts with
    """

    target: Target
    drafts: dict[str, Draft]
    assistant: PreTrainedModel | None = None

    def decode(self, method: str, prompt: Prompt, sampling: Sampling) -> Generation:
        """One answer of a method of ours, of vanilla's second turn, or of an outside control."""
        if method in CONTROLS:
            options = CONTROLS[method].options(prompt, self.assistant)
            return hf_generate(self.target, prompt, sampling.max_new_tokens, **options)
        return generate(self.target, self.drafts[VANILLA if method == AGAIN else method], prompt, sampling)


def load_engine(settings: Settings, dtype: str) -> Engine:
    torch.set_num_threads(settings.threads)
    choice = settings.target
    target = load_target(choice.name, choice.weights, dtype, choice.device, device_map=choice.device_map)
    return Engine(target, {name: ready_draft(settings, name, target) for name in (VANILLA, *draft_names(settings))})


def load_whole_engine(settings: Settings) -> Engine:
    """With the assistant, where a control is to have one. Raises UserError for an assistant that is none."""
    engine = load_engine(settings, settings.target.dtype)
    if not any(CONTROLS[name].assisted for name in settings.bench.controls):
        return engine
    return replace(engine, assistant=load_assistant(settings.bench.assistant, engine.target))


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
