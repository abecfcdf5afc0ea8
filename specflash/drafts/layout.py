"""Where pictures, bases and latents stand in a sequence. It knows no tensor of width D.

One sample, a picture of N = 4 tokens between text, compressed to C = 2:

    base t     0   1   2   3   4   5   6   7
    kind       t   t   v   v   v   v   t   t
    place      0   1   -   -   -   -   4   5
    latents            2   3
    kinds      prefix                  answerable text
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specflash.records import Span


@dataclass(frozen=True)
class Layout:
    """Of a batch of B samples with up to T bases and S pictures together.

    places         [B, T] int64  place of each text base; -1 at visual bases and padding
    before         [B, T] bool   text bases that stand before the sample's first picture
    width          int           places of the longest sample (L')
    owner          [S] int64     sample of each picture
    span           [S, N] int64  bases of each picture's tokens, repeating its last one as padding
    span_padding   [S, N] bool
    latent_places  [S, C] int64
    """

    places: Tensor
    before: Tensor
    width: int
    owner: Tensor
    span: Tensor
    span_padding: Tensor
    latent_places: Tensor


def lay_out(lengths: Tensor, spans: Sequence[Sequence[Span]], latents: int) -> Layout:
    """lengths [B] bases of each sample; spans per sample, in order; latents C."""
    device, T = lengths.device, int(lengths.max())
    base = torch.arange(T, device=device)
    visual = visual_mask(spans, T, device)
    shift = torch.zeros(len(spans), T, dtype=torch.long, device=device)
    before = torch.zeros(len(spans), T, dtype=torch.bool, device=device)
    for b, own in enumerate(spans):
        for start, length in own:
            shift[b, start + length :] += latents - length
        if own:
            before[b, : own[0][0]] = True
    text = (base < lengths[:, None]) & ~visual                                    # [B, T]
    pictures = [(b, *span) for b, own in enumerate(spans) for span in own]
    owner, start, length = torch.tensor(pictures, device=device).reshape(-1, 3).long().unbind(1)
    inside = torch.arange(max((n for _, _, n in pictures), default=0), device=device)
    first = start + shift[owner, start]                                           # [S]
    sizes = lengths + sum_by_sample(latents - length, owner, len(spans))          # [B]
    return Layout(
        places=(base + shift).masked_fill(~text, -1),
        before=before,
        width=int(sizes.max()),
        owner=owner,
        span=start[:, None] + torch.minimum(inside, length[:, None] - 1),
        span_padding=inside >= length[:, None],
        latent_places=first[:, None] + torch.arange(latents, device=device),
    )


def visual_mask(spans: Sequence[Sequence[Span]], length: int, device: torch.device) -> Tensor:
    """True at the visual tokens of each sample: [B, length] bool"""
    visual = torch.zeros(len(spans), length, dtype=torch.bool, device=device)
    for b, own in enumerate(spans):
        for start, count in own:
            visual[b, start : start + count] = True
    return visual


def sum_by_sample(values: Tensor, owner: Tensor, samples: int) -> Tensor:
    return values.new_zeros(samples).index_add_(0, owner, values)
