"""Two answers to one prompt, token for token. It knows no draft and no benchmark."""

from collections.abc import Sequence

import torch
from torch import Tensor

from specflash.records import Prompt
from specflash.targets.base import Target


def first_difference(ours: Sequence[int], reference: Sequence[int]) -> int | None:
    """Position of the first token that differs or is missing on one side; None where there is none."""
    for position, (one, other) in enumerate(zip(ours, reference, strict=False)):
        if one != other:
            return position
    return None if len(ours) == len(reference) else min(len(ours), len(reference))


def top_two_gap(target: Target, prompt: Prompt, answer: Sequence[int]) -> float:
    """How much the target prefers its first choice over its second after `answer` (logit units).

    A gap of a few roundings explains a difference in low precision; a wide one is a bug in the engine.
    """
    first, second = next_logits(target, prompt, answer).topk(2).values.tolist()
    return first - second


@torch.inference_mode()
def next_logits(target: Target, prompt: Prompt, answer: Sequence[int]) -> Tensor:
    """What the target thinks of every token after `answer`, by one pass over everything without a cache. [V] float32"""
    embeds = target.embed_prompt(prompt)                                        # [1, L, D]
    if answer:
        ids = torch.tensor([list(answer)], device=target.device)
        embeds = torch.cat([embeds, target.embed(ids)], dim=1)                  # [1, L+n, D]
    positions = target.positions(prompt, 0, embeds.shape[1])
    return target.forward(embeds, None, positions, None, keep=1).logits[0, -1].float()
