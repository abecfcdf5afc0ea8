"""The outside controls give the target's own tokens, account for each of them, and are known by name."""

from typing import get_args

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from flashbench.bench.control import CONTROLS, hf_generate, load_assistant
from flashbench.bench_settings import BenchSettings
from flashbench.values import ControlName
from specflash.decoding import generate
from specflash.drafts.store import make_draft
from specflash.errors import UserError
from specflash.sampling import Sampling
from tests.tiny import make_sample, tiny_target, tiny_tokenizer

TOKENS = 24


@pytest.fixture(scope="module")
def assistant_folder(tmp_path_factory):
    """A random language model, smaller than the tiny target, that sees nothing."""
    folder = tmp_path_factory.mktemp("assistant")
    torch.manual_seed(1)
    LlamaForCausalLM(LlamaConfig(vocab_size=300, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                                 num_attention_heads=2, num_key_value_heads=1)).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tiny_target(tmp_path_factory.mktemp("target"))


@pytest.fixture(scope="module")
def prompts(target):
    """One whose look-up meets the picture's placeholders, one without a picture."""
    samples = make_sample("What is it? It is it? What"), make_sample("a b a b a", media=())
    return [target.encode(sample) for sample in samples]


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_gives_vanillas_tokens_and_accounts_for_them(name, target, prompts, assistant_folder):
    assistant = load_assistant(assistant_folder, target)
    vanilla = make_draft("vanilla", {}, target.width).attach(target.ends)
    for prompt in prompts:
        answer = hf_generate(target, prompt, TOKENS, **CONTROLS[name].options(prompt, assistant))
        assert answer.ids == generate(target, vanilla, prompt, Sampling(max_new_tokens=TOKENS)).ids
        assert 1 + sum(answer.committed) == len(answer.ids)
        assert len(answer.kept) == len(answer.drafted) == len(answer.committed)
        assert answer.seconds["other"] == sum(answer.seconds.values()) > 0


def test_plain_generate_commits_one_token_a_pass(target, prompts):
    assert set(hf_generate(target, prompts[0], TOKENS).committed) == {1}


def test_the_settings_know_the_catalogues_names():
    assert set(CONTROLS) == set(get_args(ControlName))


def test_an_assistant_that_is_none_is_refused(target, assistant_folder, tmp_path):
    with pytest.raises(UserError, match=r"bench\.assistant: .* holds no language model that loads"):
        load_assistant(tmp_path, target)
    other = tiny_tokenizer()
    other.add_tokens(["another"])
    LlamaForCausalLM.from_pretrained(assistant_folder).save_pretrained(tmp_path)
    other.save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"has another tokenizer than llava-1\.5"):
        load_assistant(tmp_path, target)


def test_assisted_generation_needs_its_assistants_folder():
    tasks = {"captions": {"source": {"dataset": "coco-captions"}}}
    with pytest.raises(ValueError, match="hf-assisted needs `assistant`"):
        BenchSettings.model_validate({"tasks": tasks, "controls": ["hf-assisted"]})
