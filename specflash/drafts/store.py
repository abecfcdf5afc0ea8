"""A trained draft as a folder: config.json and model.safetensors. It knows no trainer.

config.json is shaped like that of vllm-project/speculators, with our own keys added. It names the
target by the fingerprint of its weights, and the tensor file by its hash: two files that do not
belong together are noticed, and so is half a file.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

import specflash
from specflash.catalogue import nearest, pick
from specflash.drafts import DRAFTS
from specflash.drafts.base import Draft, DraftConfig
from specflash.errors import UserError, one_line
from specflash.files import write_whole
from specflash.packed import can_pack, pack_linears
from specflash.targets.base import Target

CONFIG, WEIGHTS = "config.json", "model.safetensors"
AGAIN = "copy it again, or make it again with `specflash train`"


def make_draft(name: str, settings: dict[str, Any], width: int,
               vocabulary_ids: Tensor | None = None) -> Draft:
    """A fresh draft for a target of this width, not attached yet.

    settings        the draft's own section of the experiment (`k`, `vocabulary`, …)
    vocabulary_ids  from `frequent_ids`; needed where settings restrict the vocabulary

    Raises UserError for an unknown draft and for unknown or wrong settings.
    """
    kind = pick(DRAFTS, name, "draft")
    config = make_config(name, settings, width)
    return kind(config, vocabulary_ids) if config.vocabulary else kind(config)


def make_config(name: str, settings: dict[str, Any], width: int) -> DraftConfig:
    """Raises UserError for an unknown draft and for unknown or wrong settings."""
    kind = pick(DRAFTS, name, "draft")
    try:
        return kind.Config.model_validate({**settings, "width": width})
    except ValidationError as error:
        known = kind.Config.model_fields
        raise UserError(f"draft `{name}`: " + "; ".join(
            "".join(f"`{key}`: " for key in problem["loc"][:1]) + problem["msg"].removeprefix("Value error, ")
            + "".join(nearest(str(key), known) for key in problem["loc"][:1])
            for problem in error.errors())) from None


def save_draft(draft: Draft, folder: Path, target_name: str, target_fingerprint: str,
               extra: dict[str, Any] | None = None) -> None:
    """Write the two files, each in one step; weights in bf16, as drafts are passed on.

    extra  kept as it is (how the draft was made)
    """
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: _to_store(tensor) for name, tensor in draft.state_dict().items()}
    weights = save(tensors, metadata={"format": "pt"})
    config = draft.config
    tree = {
        "architectures": [type(draft).__name__],
        "speculators_model_type": draft.name,
        "draft_vocab_size": config.vocabulary or None,
        "speculators_config": {
            "algorithm": draft.name,
            "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": config.k,
                                  "verifier_accept_k": 1, "accept_tolerance": 0.0}],
            "default_proposal_method": "greedy",
            "verifier": {"name_or_path": target_name, "fingerprint": target_fingerprint},
        },
        "specflash_version": specflash.__version__,
        "draft": config.model_dump(),
        "weights_sha256": sha256(weights).hexdigest(),
        "extra": extra or {},
    }
    write_whole(folder / WEIGHTS, weights)
    write_whole(folder / CONFIG, json.dumps(tree, indent=2).encode() + b"\n")


def _to_store(tensor: Tensor) -> Tensor:
    tensor = tensor.detach().cpu().contiguous()
    return tensor.to(torch.bfloat16) if tensor.is_floating_point() else tensor


def load_draft(folder: Path, target: Target, name: str | None = None,
               settings: dict[str, Any] | None = None) -> Draft:
    """The draft saved in `folder`, ready to draft: on the target's device, in its dtype, attached, frozen.

    name      of the draft of the catalogue that is to draft with these weights; None: the one they are of
    settings  of it; of those that the weights do not depend on, these count. None: all as saved

    Raises UserError where the folder holds no whole draft, or the draft of another target.
    """
    config, tensors = load_tensors(folder)
    check_target(folder, config, target.fingerprint, target.name)
    name = name or config["speculators_model_type"]
    saved, ids = config["draft"], tensors.get("vocabulary_ids")
    if saved.get("vocabulary", 0) != (0 if ids is None else len(ids)):
        raise _not_its_tensors(folder, f"vocabulary_ids are not the {saved.get('vocabulary', 0)} of its settings")
    draft = make_draft(name, decoding_settings(name, saved, settings), target.width, ids)
    fill(draft, tensors, folder)
    draft = draft.to(target.device, target.dtype).requires_grad_(False).attach(target.ends).eval()
    if can_pack(draft):
        pack_linears(draft, keep=lambda layer: True)  # they are few, and `state_dict` stays whole
    return draft


def decoding_settings(name: str, saved: dict[str, Any], settings: dict[str, Any] | None) -> dict[str, Any]:
    """What the weights were made with, and how they are to draft now (see `load_draft`)."""
    if settings is None:
        return saved
    free = pick(DRAFTS, name, "draft").Config.decoding
    return {key: value for key, value in saved.items() if key not in free} | {
        key: value for key, value in settings.items() if key in free}


def fill(draft: Draft, tensors: dict[str, Tensor], folder: Path) -> None:
    """Put the tensors of `folder` into a draft. Raises UserError where they are not those of such a draft."""
    try:
        draft.load_state_dict(tensors)
    except RuntimeError as error:
        raise _not_its_tensors(folder, error) from None


def load_tensors(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """config.json and the tensors of a saved draft. Raises UserError where they are no whole draft."""
    config, content = check_draft(folder)
    try:
        return config, load(content)
    except SafetensorError as error:
        raise _not_its_tensors(folder, error) from None


def _not_its_tensors(folder: Path, reason: Exception | str) -> UserError:
    return UserError(f"{folder / WEIGHTS} does not hold this draft's tensors ({one_line(reason)}); {AGAIN}")


def check_target(folder: Path, config: dict[str, Any], fingerprint: str, name: str) -> None:
    """Raises UserError where the draft in `folder` is not one of the target with this fingerprint."""
    verifier = config["speculators_config"]["verifier"]
    if verifier["fingerprint"] != fingerprint:
        raise UserError(f"the draft in {folder} was trained for the target `{verifier['name_or_path']}` "
                        f"with other weights than this `{name}`; train a draft for this one")


def check_draft(folder: Path) -> tuple[dict[str, Any], bytes]:
    """config.json and the tensor file that belongs to it. Raises UserError where they are no whole draft."""
    config, content = read_config(folder), (folder / WEIGHTS).read_bytes()
    if sha256(content).hexdigest() != config["weights_sha256"]:
        raise UserError(f"{folder / WEIGHTS} is damaged or does not belong to its {CONFIG}; {AGAIN}")
    return config, content


def check_settings(folder: Path, settings: dict[str, Any], name: str | None = None) -> None:
    """Raises UserError where the draft saved in `folder` was not made as these settings of the draft `name` ask.

    A draft that has no weights of its own takes what it does not say from the one it takes them from.
    """
    config = read_config(folder)
    saved, name = config["draft"], name or config["speculators_model_type"]
    kind = pick(DRAFTS, name, "draft")
    wanted = make_config(name, settings, saved.get("width", 1)).model_dump(mode="json")
    # What the target or the features gave is compared where the settings say it as well.
    fixed = set(settings if kind.weights_of else wanted) - kind.Config.decoding - (kind.Config.given - set(settings))
    changed = [f"{key} {saved.get(key)} → {value}" for key, value in wanted.items()
               if key in fixed and saved.get(key, value) != value]
    if changed:
        raise UserError(f"the draft in {folder} has other settings than drafts.{name} ({'; '.join(changed)}): change "
                        "them back, or set `run` to another folder and train it there")


def read_config(folder: Path) -> dict[str, Any]:
    """config.json of a saved draft. Raises UserError where it is missing or not one of ours."""
    for file in (CONFIG, WEIGHTS):
        if not (folder / file).is_file():
            raise UserError(f"no draft in {folder}: {file} is missing; train one with `specflash train`")
    try:
        config = json.loads((folder / CONFIG).read_text())
    except ValueError:
        raise UserError(f"{folder / CONFIG} is not valid JSON; {AGAIN}") from None
    if not _is_ours(config):
        raise UserError(f"{folder / CONFIG} was not written by `specflash train`; train a draft with it")
    return config


def _is_ours(config: Any) -> bool:
    try:
        verifier = config["speculators_config"]["verifier"]
        texts = (verifier["name_or_path"], verifier["fingerprint"], config["weights_sha256"],
                 config["speculators_model_type"])
        return all(isinstance(text, str) for text in texts) and isinstance(config["draft"], dict)
    except (KeyError, TypeError):
        return False
