"""The catalogue of target models. A new family is one file and one line here."""

import re
from collections.abc import Callable
from pathlib import Path

import torch

from specflash.catalogue import pick
from specflash.errors import UserError
from specflash.hub import hub_folder, is_hub_name
from specflash.smol.llava_smol import LLAVA_SMOL
from specflash.smol.qwen_smol import QWEN_SMOL
from specflash.targets.base import Ends, Target
from specflash.targets.family import Family
from specflash.targets.folder import folder_fingerprint, load_hollow, parameters_in, placeholder_ids
from specflash.targets.llava import Llava
from specflash.targets.llava_next import LlavaNext
from specflash.targets.qwen2_5_vl import Qwen25Vl

Default = Callable[[], Path]

TARGETS: dict[str, tuple[type[Family], Default | None]] = {
    "llava-1.5": (Llava, None),
    "llava-1.6": (LlavaNext, None),
    "qwen2.5-vl": (Qwen25Vl, None),
    "llava-smol": (Llava, LLAVA_SMOL.folder),
    "qwen2.5-vl-smol": (Qwen25Vl, QWEN_SMOL.folder),
}
"""name -> (class, where its weights are when the settings name none)"""

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_target(name: str, weights: str | None = None, dtype: str = "float32",
                device: str = "auto", plain: bool = False, device_map: str | None = None) -> Target:
    """The frozen target `name`.

    weights  Hugging Face folder, or `owner/name[@revision]` of its hub; None for the weights that ship with the project
    dtype    "float32", "bfloat16" or "float16"
    device   "auto" (a GPU where there is one), "cpu", "cuda" or "cuda:N"
    plain    with nothing of this project inside the model: slower, for holding the others against it
    device_map  "auto": layer by layer over all devices there are, in place of `device`

    Raises UserError for an unknown name, a device that is not there, a folder that is missing or
    holds no such model.
    """
    family, _ = pick(TARGETS, name, "target")
    return family.load(name, _folder(name, weights), DTYPES[dtype], _device(device), plain, device_map)


def load_encoder(name: str, weights: str | None = None) -> Target:
    """The target without its weights: it encodes samples and can run nothing. Raises UserError as `load_target`."""
    family, _ = pick(TARGETS, name, "target")
    folder = _folder(name, weights)
    target = family(name, *load_hollow(folder, family.kind), folder_fingerprint(folder))
    target.device = torch.device("cpu")
    return target


def visual_ids(name: str, weights: str | None = None) -> frozenset[int]:
    """Token ids that stand for a visual token, of a picture or of a clip, without loading the target."""
    pick(TARGETS, name, "target")
    return placeholder_ids(_folder(name, weights))


def weights_bytes(name: str, weights: str | None = None, dtype: str = "float32") -> int:
    """Bytes of the target's parameters in `dtype`, from the sizes its files state."""
    pick(TARGETS, name, "target")
    return parameters_in(_folder(name, weights)) * DTYPES[dtype].itemsize


def load_ends(name: str, weights: str | None = None, dtype: str = "float32") -> Ends:
    """The target's embedding table and LM head alone, for training a draft."""
    family, _ = pick(TARGETS, name, "target")
    return family.load_ends(_folder(name, weights), DTYPES[dtype])


def target_fingerprint(name: str, weights: str | None = None) -> str:
    """Identity of the target's weights, without loading them."""
    pick(TARGETS, name, "target")
    return folder_fingerprint(_folder(name, weights))


def _folder(name: str, weights: str | None) -> Path:
    default = TARGETS[name][1]
    if weights is None:
        if default is None:
            raise UserError(f"target `{name}` ships no weights; set target.weights to the folder "
                            "with the downloaded model, or to its name on the hub (owner/name)")
        return default()
    folder = hub_folder(weights) if is_hub_name(weights) else Path(weights)
    if not (folder / "config.json").is_file():
        raise UserError(f"target.weights: {folder} holds no model (no config.json)")
    return folder


def _device(device: str) -> str:
    """A torch device that is there. Raises UserError for any other."""
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        return "cuda" if there else "cpu"
    if device != "cpu" and not re.fullmatch(r"cuda(:\d+)?", device):
        raise UserError(f"target.device={device} is not a device this runs on; known: auto, cpu, cuda, cuda:N")
    if device != "cpu" and int(device.partition(":")[2] or 0) >= there:
        raise UserError(f"target.device={device}: torch finds {there} CUDA devices on this machine; "
                        "set target.device to auto or cpu")
    return device
