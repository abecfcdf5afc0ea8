"""What is heard inside an unpatched model is what transformers itself says of it."""

import pytest
import torch

from specflash.targets.family import Family
from tests.families import FAMILIES, tiny_of
from tests.tiny import make_sample, picture


@pytest.fixture(scope="module", params=FAMILIES)
def target(request, tmp_path_factory) -> Family:
    return tiny_of(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def prompt(target):
    return target.encode(make_sample(answer="A red thing.", media=(picture(),)))


def forward(target, prompt, inner):
    return target.forward(target.embed_prompt(prompt), None, target.positions(prompt, 0, prompt.length), None, 1, inner)


def test_inner_states_are_the_unpatched_model_s_after_that_layer(target, prompt):
    """`hidden_states[j + 1]` of transformers is what comes out of layer j, but for the last one, which is normed."""
    states = target.model(input_ids=prompt.ids, **prompt.pixels, output_hidden_states=True).hidden_states
    assert torch.equal(forward(target, prompt, 0).inner, states[1])


def test_who_asks_for_none_pays_nothing_and_gets_the_same(target, prompt):
    hooks = [dict(layer._forward_hooks) for layer in target.model.model.language_model.layers]
    plain, asked = forward(target, prompt, None), forward(target, prompt, 1)
    assert plain.inner is None
    assert plain.rows is plain.features
    assert torch.equal(asked.features, plain.features)
    assert torch.equal(asked.rows, torch.cat([asked.features, asked.inner], -1))
    assert [dict(layer._forward_hooks) for layer in target.model.model.language_model.layers] == hooks


def test_attention_s_entropy_is_that_of_the_library_s_own_weights(target, prompt):
    before = forward(target, prompt, None).features
    entropy = target.attention_entropy(prompt)
    decoder = target.model.model.language_model
    decoder.set_attn_implementation("eager")
    try:
        attentions = target.model(input_ids=prompt.ids, **prompt.pixels, output_attentions=True).attentions
    finally:
        decoder.set_attn_implementation("sdpa_grouped")
    text = [torch.special.entr(weights[0, :, prompt.prefix :]).sum(-1).mean() for weights in attentions]
    torch.testing.assert_close(entropy, torch.stack(text))
    assert torch.equal(forward(target, prompt, None).features, before)  # attention is what it was
