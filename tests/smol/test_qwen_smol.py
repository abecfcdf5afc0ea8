"""SmolLM2 inside Qwen2.5-VL says of text what it says by itself, and pictures are 324 tokens."""

import pytest
import torch
import transformers

from specflash.records import Clip
from specflash.smol.language_model import load_language_model
from specflash.smol.qwen_smol import empty_model, save_processor
from specflash.targets import load_target
from tests.tiny import grey, make_sample
from tests.videos import write_video


@pytest.fixture(scope="module")
def model():
    return empty_model()


@torch.inference_mode()
def test_logits_on_text_are_llamas_to_the_last_bit(model):
    config, tensors = load_language_model()
    llama = transformers.LlamaForCausalLM(config).eval()
    llama.model.load_state_dict(tensors)
    llama.tie_weights()
    ids = torch.randint(0, config.vocab_size, (1, 40), generator=torch.Generator().manual_seed(0))
    assert torch.equal(model(input_ids=ids).logits, llama(input_ids=ids).logits)


def test_as_a_folder_it_is_a_target_with_324_tokens_a_picture_and_a_slice(model, tmp_path):
    model.save_pretrained(tmp_path)
    save_processor(tmp_path)
    target = load_target("qwen2.5-vl", str(tmp_path), "bfloat16", "cpu")
    clip = Clip(write_video(tmp_path / "clip.mp4", frames=6, size=(336, 336)), 4)
    prompt = target.encode(make_sample("What is it?", media=(grey(336, 336), clip)))
    assert [length for _, length in prompt.spans] == [324] * 3
    assert target.tokenizer.decode(prompt.ids[0]).endswith("What is it?<|im_end|>\n<|im_start|>assistant\n")
    assert int(target.tokenizer.convert_tokens_to_ids("<|im_end|>")) in target.end_ids
