"""`qwen2.5-vl-smol` as an ordinary Qwen2.5-VL folder: SmolLM2 and a small vision tower.

The text half of Qwen2.5-VL is Llama with biases at queries, keys and values. With these at 0, SmolLM2's
tensors fit in as they are and say the same about text, to the last bit.
"""

from pathlib import Path
from typing import Any

import torch
import transformers  # its classes by this name only: it reads their modules when first asked for
from torch import Tensor

from specflash.smol.language_model import load_language_model, load_tokenizer
from specflash.smol.shipped import Shipped, section

START, END, IMAGE, VIDEO = "<issue_start>", "<issue_closed>", "<reponame>", "<filename>"
"""Special tokens of SmolLM2 that ordinary text never contains: the vocabulary stays as it is."""

SIDE, PATCH, MERGE = 504, 14, 2
"""A square picture becomes 504 × 504 pixels, 36 × 36 patches, 18 × 18 = 324 visual tokens."""
TOWER = {"depth": 4, "hidden_size": 192, "intermediate_size": 512, "num_heads": 3, "patch_size": PATCH,
         "spatial_merge_size": MERGE, "temporal_patch_size": 2, "window_size": 112, "fullatt_block_indexes": [1, 3],
         "tokens_per_second": 2}
MROPE_SECTION = [8, 12, 12]
"""Of the 32 frequencies of a head, those that hear the temporal, vertical and horizontal position."""

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}" + START + IMAGE + END +
    "{% elif part['type'] == 'video' %}" + START + VIDEO + END +
    "{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHARED = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
          "num_key_value_heads", "hidden_act", "max_position_embeddings", "rms_norm_eps", "bos_token_id",
          "eos_token_id", "pad_token_id")
"""What the two language models' configurations call by the same name."""


def qwen_config(text_config: "transformers.LlamaConfig") -> "transformers.Qwen2_5_VLConfig":
    start, end, image, video = load_tokenizer().convert_tokens_to_ids([START, END, IMAGE, VIDEO])
    text = {key: getattr(text_config, key) for key in SHARED}
    text["rope_parameters"] = {"rope_type": "default", "rope_theta": text_config.rope_parameters["rope_theta"],
                               "mrope_section": MROPE_SECTION}
    return transformers.Qwen2_5_VLConfig(
        vision_config={**TOWER, "out_hidden_size": text_config.hidden_size}, text_config=text, image_token_id=image,
        video_token_id=video, vision_start_token_id=start, vision_end_token_id=end, tie_word_embeddings=True)


def empty_model() -> "transformers.Qwen2_5_VLForConditionalGeneration":
    """fp32, with the language model's tensors and a freshly initialised tower and merger."""
    text_config, tensors = load_language_model()
    model = transformers.Qwen2_5_VLForConditionalGeneration(qwen_config(text_config)).eval()
    biases, surplus = model.model.language_model.load_state_dict(tensors, strict=False)
    assert not surplus and all(name.endswith("_proj.bias") for name in biases), (biases, surplus)
    with torch.no_grad():
        for name in biases:
            model.model.language_model.get_parameter(name).zero_()
    model.tie_weights()
    return model


def qwen_processor() -> tuple[Any, Any]:
    """Tokenizer with its chat template, and picture processor."""
    pixels = SIDE * SIDE
    size = {"shortest_edge": pixels, "longest_edge": pixels}
    tokenizer = load_tokenizer()
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer, transformers.Qwen2VLImageProcessorPil(size=size)


def save_processor(folder: Path) -> None:
    """As the target `qwen2.5-vl` reads them."""
    for part in qwen_processor():
        part.save_pretrained(folder)


def load_parts(model: "transformers.Qwen2_5_VLForConditionalGeneration", parts: dict[str, Tensor]) -> None:
    model.model.visual.load_state_dict(section(parts, "tower."))


QWEN_SMOL = Shipped("qwen2.5-vl-smol", Path(__file__), empty_model, load_parts, save_processor)
