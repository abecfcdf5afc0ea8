"""Which decoder layer's hidden states a dump stores beside the features. It knows no draft.

DREAM (arXiv 2505.19201) takes the layer whose attention has the lowest entropy: it has found what it looks for, so
what it wrote down is the most worth knowing. Here the entropy is the mean over the heads and over the text behind the
pictures, of a few samples of the source; the last layer does not take part, as its states are the features
themselves. One layer is chosen for the whole store, and its manifest says so: else samples of one
store would mean different things.
"""

from pathlib import Path

import torch

from flashbench.console import note, step
from flashbench.dump import manifest
from flashbench.dump.probe import spread
from flashbench.settings import Settings
from specflash.data import Dataset
from specflash.errors import UserError
from specflash.records import Prompt
from specflash.targets import load_encoder, load_target
from specflash.targets.base import Target

PROBED = 8


def inner_layer(settings: Settings, dataset: Dataset, folder: Path) -> int | str | None:
    """The layer as a manifest has it; one that the store in `folder` has chosen is not chosen again.

    Raises UserError for a layer that the target does not have, and where no sample of the source can be looked at.
    """
    asked = settings.dump.inner
    if asked is None:
        return None
    if asked == "auto" and (folder / manifest.FILE).is_file():
        known = manifest.Manifest.load(folder).inner
        return asked if known is None else known  # a store without inner states refuses to hold some from now on
    target = settings.target
    if asked != "auto":
        layers = load_encoder(target.name, target.weights).layers
        if asked >= layers:
            raise UserError(f"dump.inner={asked}: {target.name} has the decoder layers 0 to {layers - 1}")
        return asked
    with step(f"choose a layer of {target.name}"):
        loaded = load_target(target.name, target.weights, target.dtype, target.device, device_map=target.device_map)
        chosen = surest_layer(loaded, _prompts(loaded, dataset, settings))
    note(f"dump.inner=auto: layer {chosen} of {loaded.layers}, whose attention has the lowest entropy")
    return chosen


def surest_layer(target: Target, prompts: list[Prompt]) -> int:
    """The layer, but for the last one, with the lowest mean entropy of attention."""
    entropy = torch.stack([target.attention_entropy(prompt) for prompt in prompts]).mean(0)      # [layers]
    return int(entropy[:-1].argmin())


def _prompts(target: Target, dataset: Dataset, settings: Settings) -> list[Prompt]:
    prompts = []
    for sample in spread(dataset, PROBED):
        try:
            prompt = target.encode(sample)
        except UserError:
            continue
        if prompt.length <= settings.dump.max_length:
            prompts.append(prompt)
    if not prompts:
        raise UserError("dump.inner=auto: none of the samples that were looked at can be dumped: run `specflash "
                        "prepare`, or name a layer")
    return prompts
