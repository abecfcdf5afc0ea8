"""A tiny random target of every family, from the real configuration classes, with processors of the real shape.

D = 32 and V = 300 in all; LLaVA sees 4 visual tokens of a picture, the others more or fewer, as its size has it.
"""

from collections.abc import Callable
from pathlib import Path

import torch
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaNextConfig,
    LlavaNextForConditionalGeneration,
    LlavaNextProcessor,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
)
from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from specflash.targets import load_target
from specflash.targets.base import Target
from tests.tiny import TEMPLATE, save_tiny_llava, tiny_tokenizer

TEXT = {"vocab_size": 300, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "eos_token_id": 2, "pad_token_id": 0, "bos_token_id": 1,
        "initializer_range": 0.2}
VISUAL = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
QWEN_TEMPLATE = (
    TEMPLATE.replace("<image>\n", "<|vision_start|><|image_pad|><|vision_end|>")
    .replace("{% else %}", "{% elif part['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>{% else %}"))


def save_tiny_llava_next(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    vision = CLIPVisionConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
                              image_size=28, patch_size=14, projection_dim=16)
    grids = [[28, 56], [56, 28], [56, 56], [28, 84], [84, 28]]
    config = LlavaNextConfig(vision_config=vision, text_config=LlamaConfig(**TEXT), image_token_index=3,
                             image_grid_pinpoints=grids, vision_feature_layer=-2, tie_word_embeddings=False,
                             vision_feature_select_strategy="default")
    model = LlavaNextForConditionalGeneration(config)
    for parameter in model.model.multi_modal_projector.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    seer = LlavaNextImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28},
                                      image_grid_pinpoints=grids)
    LlavaNextProcessor(seer, tiny_tokenizer(), patch_size=14, image_token="<image>", chat_template=TEMPLATE,
                       vision_feature_select_strategy="default",
                       num_additional_image_tokens=1).save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def save_tiny_qwen(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<start>", "<image>", *VISUAL]})
    tokenizer.chat_template = QWEN_TEMPLATE
    start, end, image, video = tokenizer.convert_tokens_to_ids(VISUAL)
    vision = {"depth": 2, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32, "patch_size": 14,
              "spatial_merge_size": 2, "temporal_patch_size": 2, "tokens_per_second": 2, "window_size": 56,
              "out_hidden_size": 32, "fullatt_block_indexes": [1], "initializer_range": 0.2}
    text = {**TEXT, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}}
    model = Qwen2_5_VLForConditionalGeneration(Qwen2_5_VLConfig(
        vision_config=vision, text_config=text, image_token_id=image, video_token_id=video,
        vision_start_token_id=start, vision_end_token_id=end))
    Qwen2VLImageProcessorPil(size={"shortest_edge": 4 * 28 * 28, "longest_edge": 9 * 28 * 28}).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


FAMILIES: dict[str, Callable[..., Path]] = {
    "llava-1.5": save_tiny_llava,
    "llava-1.6": save_tiny_llava_next,
    "qwen2.5-vl": save_tiny_qwen,
}


def tiny_of(name: str, folder: Path, dtype: str = "float32", seed: int = 0, **options) -> Target:
    """Save (once per folder) and load it."""
    if not (folder / "config.json").exists():
        FAMILIES[name](folder, seed)
    return load_target(name, str(folder), dtype, "cpu", **options)
