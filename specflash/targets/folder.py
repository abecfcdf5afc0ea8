"""A model as a folder of files: whole and of the right kind, or one line that says what is wrong.

It knows no prompt and no forward pass.
"""

import json
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from transformers.utils import logging

from specflash.errors import UserError, one_line


class Parts:
    """A tokenizer and an image processor, where the whole processor of a family asks for more than is needed."""

    def __init__(self, tokenizer: Any, image_processor: Any):
        self.tokenizer, self.image_processor = tokenizer, image_processor

    @classmethod
    def from_pretrained(cls, folder: Path, **options: Any) -> "Parts":
        return cls(transformers.AutoTokenizer.from_pretrained(folder, **options),
                   transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **options))

    def apply_chat_template(self, messages: list[dict], **options: Any) -> str:
        return self.tokenizer.apply_chat_template(messages, **options)


class Kind(NamedTuple):
    """A family of models as the library knows it.

    title       for people
    model_type  what config.json says
    model       name of the transformers class
    processor   what loads the processor; None: the library's own way
    """

    title: str
    model_type: str
    model: str
    processor: Any = None


def load_whole(folder: Path, kind: Kind, dtype: torch.dtype, attention: str,
               device_map: str | None = None) -> tuple[nn.Module, Any]:
    """Model and processor. The library fills missing tensors with random numbers; here they are an error."""
    _check_kind(folder, kind)
    logging.disable_progress_bar()
    try:
        model, told = getattr(transformers, kind.model).from_pretrained(
            folder, dtype=dtype, attn_implementation=attention, local_files_only=True, output_loading_info=True,
            device_map=device_map)
        processor = _processor(folder, kind)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, SafetensorError) as error:
        raise UserError(f"{folder} holds no {kind.title} model that loads: {one_line(error)}") from None
    missing = sorted(told["missing_keys"])
    if missing:
        raise UserError(f"{folder} lacks {len(missing)} of the model's tensors ({missing[0]}, …): download or "
                        "copy its *.safetensors files again")
    return model, processor


def _processor(folder: Path, kind: Kind) -> Any:
    # Named no earlier: it imports the library's modelling code, seconds for all who only name a target.
    return (kind.processor or transformers.AutoProcessor).from_pretrained(folder, local_files_only=True)


def load_hollow(folder: Path, kind: Kind) -> tuple[nn.Module, Any]:
    """The model without memory for its weights, and the processor: enough to encode a sample."""
    _check_kind(folder, kind)
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        with torch.device("meta"):
            model = getattr(transformers, kind.model)._from_config(config)
        processor = _processor(folder, kind)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
        raise UserError(f"{folder} holds no model whose processor loads: {one_line(error)}") from None
    if (folder / "generation_config.json").is_file():
        model.generation_config = transformers.GenerationConfig.from_pretrained(folder, local_files_only=True)
    return model, processor


def _check_kind(folder: Path, kind: Kind) -> None:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_bytes())
        found = config.get("model_type")
    except (OSError, ValueError, AttributeError):
        raise UserError(f"{folder} holds no {kind.title} model that loads: {path.name} is missing or damaged; copy the "
                        "folder again") from None
    if found != kind.model_type:
        raise UserError(f"{folder} holds no {kind.title} model: {path.name} says model_type `{found}`, not "
                        f"`{kind.model_type}`; set target.weights to another folder")


PLACEHOLDERS = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")


def placeholder_ids(folder: Path) -> frozenset[int]:
    """What config.json says of them, under the names that the families use."""
    config = json.loads((folder / "config.json").read_bytes())
    return frozenset(config[name] for name in PLACEHOLDERS if isinstance(config.get(name), int))


PREPARING = ("preprocessor_config.json", "processor_config.json")


def folder_fingerprint(folder: Path) -> str:
    """Identity of the weights in a folder, without reading all of a large model.

    What a folder states itself (`specflash.json`) wins; else config.json, what is said of how pictures are prepared
    (`max_pixels` decides how many visual tokens there are), the names, shapes and sizes of all tensors, and 64 evenly
    spaced pieces of each weights file.
    """
    stated = folder / "specflash.json"
    if stated.is_file():
        return _stated_fingerprint(stated)
    digest = sha256((folder / "config.json").read_bytes())
    for path in (folder / name for name in PREPARING):
        digest.update(path.read_bytes() if path.is_file() else b"")
    for path in sorted(folder.glob("*.safetensors")):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}".encode())
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")
            digest.update(file.read(min(header, size)))  # a damaged file may say anything
            for piece in range(64):
                file.seek(piece * size // 64)
                digest.update(file.read(1 << 16))
    return digest.hexdigest()[:32]


def _stated_fingerprint(path: Path) -> str:
    try:
        fingerprint = json.loads(path.read_bytes())["fingerprint"]
    except (ValueError, KeyError, TypeError):
        fingerprint = None
    if not isinstance(fingerprint, str):
        raise UserError(f"{path} is damaged: copy the folder {path.parent} again; if it lies in the cache of "
                        "specflash, move it away and it is made again")
    return fingerprint


def parameters_in(folder: Path) -> int:
    """How many numbers the folder's tensors have, from the headers of its weights files."""
    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="pt") as file:
                total += sum(prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
        except SafetensorError as error:
            raise UserError(f"{path} is damaged ({one_line(error)}): copy or download it again") from None
    return total


def find_tensors(folder: Path, endings: tuple[str, ...]) -> dict[str, Tensor]:
    """Tensors of a folder by the ending of their names (prefixes differ between versions)."""
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        try:
            found |= _tensors_in(path, endings)
        except SafetensorError as error:
            raise UserError(f"{path} is damaged ({one_line(error)}): copy or download it again") from None
    return found


def _tensors_in(path: Path, endings: tuple[str, ...]) -> dict[str, Tensor]:
    with safe_open(path, framework="pt") as file:
        names = {name: next((ending for ending in endings if name.endswith(ending)), None)
                 for name in file.keys()}  # noqa: SIM118 (a file handle, not a mapping)
        return {ending: file.get_tensor(name) for name, ending in names.items() if ending and "vision" not in name}
