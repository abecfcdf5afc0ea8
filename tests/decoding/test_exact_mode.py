"""Passes of a constant number of rows: chains equal vanilla to the last bit, in bf16 too."""

import itertools

import pytest
import torch
from torch import Tensor

from specflash.cache import HEADROOM, cache_length
from specflash.decoding import Decoding, generate
from specflash.drafts.base import Draft
from specflash.errors import UserError
from specflash.records import Prompt
from specflash.targets.base import Target
from tests.decoding.scripted import (
    NEW,
    SAMPLES,
    VANILLA,
    Scripted,
    greedy,
    oracle,
    random_mix,
    unending,
    with_ends,
    wrong,
)


def spoken_logits(target: Target, draft: Draft, prompt: Prompt, width: int) -> tuple[list[int], Tensor]:
    """The text, and the logits row that each token after the first was taken from. [n, V]"""
    passes: list[Tensor] = []
    spy = with_ends(target)

    def forward(embeds, cache, positions, mask, keep, inner):
        output = target.forward(embeds, cache, positions, mask, keep, inner)
        passes.append(output.logits[0])
        if len(passes) > 1:  # behind the prefill: shapes that no draft has an influence on
            assert mask.shape == (1, 1, width, cache_length(prompt.length, NEW))
            assert keep == embeds.shape[1] == positions.shape[-1] == width
        return output

    spy.forward = forward
    done = generate(spy, draft, prompt, greedy(), width)
    return done.ids, torch.cat([logits[:count] for logits, count in zip(passes[1:], done.committed, strict=True)])


@pytest.mark.parametrize(("name", "width"), [("text", 9), ("picture", 5), ("two pictures", 7)])
def test_bf16_logits_of_chains_equal_vanilla_bit_for_bit_at_constant_width(bf16_target, name, width):
    prompt = bf16_target.encode(SAMPLES[name])
    text, reference = spoken_logits(bf16_target, VANILLA, prompt, width)
    assert reference.dtype == torch.bfloat16
    for k, script in itertools.product((2, width - 1), (oracle(text), wrong(text), random_mix(text, width))):
        ids, logits = spoken_logits(bf16_target, Scripted(k, script), prompt, width)
        assert ids == text
        assert torch.equal(logits, reference)


def test_constant_width_gives_the_same_text_in_fp32(target, prompt):
    text = unending(target, prompt)
    for draft in (VANILLA, Scripted(4, oracle(text)), Scripted(4, random_mix(text, 0))):
        assert generate(with_ends(target), draft, prompt, greedy(), width=7).ids == text


@pytest.mark.parametrize("width", [0, 4, HEADROOM + 1])
def test_width_that_does_not_fit_is_refused(target, pictured, width):
    with pytest.raises(UserError, match=r"width must lie in \[5, 32\] for a draft of 4 tokens"):
        Decoding(target, Scripted(4, oracle([])), pictured, greedy(), width)
