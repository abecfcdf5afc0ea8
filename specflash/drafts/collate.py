"""Stored samples to one padded batch. It knows no draft and no store."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch.nn.utils.rnn import pad_sequence

from specflash.records import Batch, Features


def collate(samples: Sequence[Features]) -> Batch:
    """Pad on the right: ids with 0, features and inner states with 0, answer_mask with False."""
    return Batch(
        ids=pad_sequence([sample.ids for sample in samples], batch_first=True),                  # [B, L]
        features=pad_sequence([sample.features for sample in samples], batch_first=True),        # [B, L, D]
        answer_mask=pad_sequence([sample.answer_mask for sample in samples], batch_first=True),  # [B, L]
        lengths=torch.tensor([len(sample.ids) for sample in samples]),
        spans=tuple(sample.spans for sample in samples),
        inner=None if samples[0].inner is None else pad_sequence(
            [sample.inner for sample in samples], batch_first=True),                             # [B, L, D]
    )


def add_noise(batch: Batch, amount: float, generator: torch.Generator | None) -> Batch:
    """The batch with uniform noise of ±amount·512/length on what the draft is fed.

    A draft that decodes is fed its own errors; noise prepares it for them (EAGLE §4). Regression
    targets and token embeddings stay clean, and padding stays 0.
    """
    B, L, D = batch.features.shape
    device = batch.features.device
    uniform = torch.rand(B, L, D, device=device, generator=generator) * 2 - 1
    reach = amount * 512 / batch.lengths                                                # [B]
    real = torch.arange(L, device=device) < batch.lengths[:, None]                      # [B, L]
    noise = uniform * (reach[:, None] * real)[..., None]                                # [B, L, D]
    return replace(batch, noisy=batch.features + noise.to(batch.features.dtype))
