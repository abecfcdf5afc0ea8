"""`llava-smol` as an ordinary Hugging Face LLaVA folder: SmolLM2 + small CLIP tower + projector.

It knows how the parts fit together, not how they were trained (see `specflash/smol/build.py`).
"""

from pathlib import Path

import transformers  # its classes by this name only: it reads their modules when first asked for
from torch import Tensor

from specflash.smol.language_model import load_language_model, load_tokenizer
from specflash.smol.shipped import Shipped, section

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


def load_parts(model: "transformers.LlavaForConditionalGeneration", parts: dict[str, Tensor]) -> None:
    model.model.vision_tower.load_state_dict(section(parts, "tower."))
    model.model.multi_modal_projector.load_state_dict(section(parts, "projector."))


def save_processor(folder: Path) -> None:
    llava_processor().save_pretrained(folder)


LLAVA_SMOL = Shipped("llava-smol", Path(__file__), empty_model, load_parts, save_processor)
