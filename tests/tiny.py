"""A tiny random LLaVA, saved as a Hugging Face folder and loaded like any other target.

N = 4 visual tokens (28 px pictures, 14 px patches), D = 32, V = 300. Its tokenizer splits text
into bytes, so every string can be encoded.
"""

import io
from pathlib import Path

import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

from specflash.records import Medium, Sample, Turn, sample_id
from specflash.targets import load_target
from specflash.targets.base import Target

VISUAL_TOKENS = 4
SPECIAL = ["<pad>", "<start>", "<end>", "<image>"]
TEMPLATE = (
    "{% for message in messages %}<start>{{ message['role'] }}\n"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>\n"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<start>assistant\n{% endif %}"
)


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {word: number for number, word in enumerate(SPECIAL + letters)}
    tokenizer = Tokenizer(models.BPE(vocab=words, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>",
                                   extra_special_tokens=["<start>", "<image>"])


def save_tiny_llava(folder: Path, seed: int = 0, scale: float = 1.0) -> Path:
    """Write the model to `folder`. `scale` > 1 sharpens its random opinions (larger weights)."""
    torch.manual_seed(seed)
    text = LlamaConfig(vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                       num_attention_heads=4, num_key_value_heads=2, eos_token_id=2, pad_token_id=0,
                       bos_token_id=1, initializer_range=0.2 * scale, tie_word_embeddings=True)
    vision = CLIPVisionConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=2,
                              num_attention_heads=2, image_size=28, patch_size=14, projection_dim=16)
    config = LlavaConfig(vision_config=vision, text_config=text, image_token_index=3,
                         vision_feature_layer=-1, vision_feature_select_strategy="default",
                         image_seq_length=VISUAL_TOKENS, tie_word_embeddings=True)
    model = LlavaForConditionalGeneration(config)
    for parameter in model.model.multi_modal_projector.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    size = {"height": 28, "width": 28}
    processor = LlavaProcessor(CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size=size),
                               tiny_tokenizer(), patch_size=14, image_token="<image>",
                               vision_feature_select_strategy="default", chat_template=TEMPLATE,
                               num_additional_image_tokens=1)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def tiny_target(folder: Path, dtype: str = "float32", seed: int = 0) -> Target:
    """Save (once per folder) and load it."""
    if not (folder / "config.json").exists():
        save_tiny_llava(folder, seed)
    return load_target("llava-1.5", str(folder), dtype, "cpu")


def picture(colour: tuple[int, int, int] = (200, 30, 30)) -> bytes:
    """A 40 × 30 PNG with a gradient, so that every colour gives another picture."""
    image = Image.new("RGB", (40, 30), colour)
    image.paste(Image.linear_gradient("L").resize((40, 30)), (0, 0), Image.new("L", (40, 30), 60))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def grey(width: int, height: int) -> bytes:
    """A PNG of that size with a gradient."""
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).save(buffer, "PNG")
    return buffer.getvalue()


def make_sample(question: str = "What is it?", answer: str | None = None,
                media: tuple[Medium, ...] = (picture(),), task: str = "instruct") -> Sample:
    turns = (Turn(question, answer),)
    return Sample(sample_id(media, turns), media, turns, task)
