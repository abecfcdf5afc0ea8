"""A target of three words, and small drafts of every kind for it: so little can be said that all of it can be listed.

One attention layer with the project's own cache, in float64, so that rounding hides nothing.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.cache_utils import Cache

from specflash.catalogue import pick
from specflash.drafts import DRAFTS
from specflash.drafts.base import Draft
from specflash.drafts.store import make_draft
from specflash.records import Output, Prompt, Sample
from specflash.targets.base import Ends, Target

V, D, HEADS, PLACES = 3, 8, 2, 64
TEXT = (0, 1, 1, 0, 1, 2, 0)
END = 2
SMALL = {"k": 2, "latents": 2, "head_dim": 4, "inner": 16, "layers": 1, "refine_inner": 8, "inner_layer": 0}
VOCABULARY = (0, 2)

MODES: dict[str, dict[str, Any]] = {
    "likeliest": {},
    "drawn": {"sampled": True},
    "drawn from a part": {"sampled": True, "vocabulary": len(VOCABULARY)},
    "tree": {"nodes": 5, "branch": 2},
    "fixed tree": {"nodes": 3, "branch": 2, "shape": "fixed"},
    "drawn tree": {"nodes": 3, "branch": 2, "shape": "fixed", "sampled": True},
}
"""How a draft with weights may choose its tokens: name -> settings."""


class TinyTarget(Target):
    """Weights are random; positions are learned vectors, so that a wrong one is felt."""

    name, fingerprint, end_ids, layers = "tiny", "", frozenset([END]), 1
    device, dtype, width, vocabulary = torch.device("cpu"), torch.float64, D, V

    def __init__(self, seed: int = 0):
        generator = torch.Generator().manual_seed(seed)

        def weights(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self._embedding, self._places = weights(V, D), weights(PLACES, D) / 2
        self._q, self._k, self._v = (weights(D, D) / D ** 0.5 for _ in range(3))
        self._head = weights(V, D) / 4

    @classmethod
    def load(cls, weights: str | None, dtype: torch.dtype, device: str) -> "TinyTarget":
        return cls()

    @property
    def ends(self) -> Ends:
        return Ends(self._embedding, self._head)

    def encode(self, sample: Sample | None = None) -> Prompt:
        """Always the same words; the look-up finds matches in them."""
        ids = torch.tensor([TEXT])
        return Prompt(ids, {}, (), torch.zeros_like(ids, dtype=torch.bool))

    def embed_prompt(self, prompt: Prompt) -> Tensor:
        return self.embed(prompt.ids)

    def embed(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self._embedding)

    def positions(self, prompt: Prompt, start: int, rows: int) -> Tensor:
        return torch.arange(start, start + rows)[None]

    def forward(self, embeds: Tensor, cache: Cache | None, positions: Tensor,
                mask: Tensor | None, keep: int, inner: int | None = None) -> Output:
        x = embeds + self._places[positions]                                      # [1, R, D]
        q, k, v = (self._split(x @ weight) for weight in (self._q, self._k, self._v))
        if cache is not None:
            k, v = cache.update(k, v, 0)                                          # [1, H, T, d]
        seen = F.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None and len(q[0, 0]) > 1)
        states = x + 2 * seen.transpose(1, 2).flatten(2)                          # [1, R, D]
        features = F.rms_norm(states, (D,))
        return Output(features, self.head(features[:, -keep:]), None if inner is None else states)

    def head(self, features: Tensor) -> Tensor:
        return features @ self._head.T

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(map(str, ids))

    def _split(self, x: Tensor) -> Tensor:
        """[1, R, D] -> [1, H, R, d]"""
        return x.unflatten(-1, (HEADS, D // HEADS)).transpose(1, 2)


def modes_of(name: str) -> list[str]:
    """What of it the draft has settings for, but for trees of a shape that is not its own.

    One without weights has no choice; one that is always a tree is no chain.
    """
    kind = pick(DRAFTS, name, "draft")
    if not kind.trainable and not kind.weights_of:
        return ["likeliest"]
    known = kind.Config.model_fields
    chains = [] if kind.weights_of else [mode for mode, choice in MODES.items() if "nodes" not in choice]
    trees = [mode for mode, choice in MODES.items() if "nodes" in choice and "nodes" in known
             and choice.get("shape", "grown") == known["shape"].default]
    return chains + trees


def tiny_draft(name: str, mode: str, target: Target) -> Draft:
    """Random weights everywhere, nothing at its start; as precise as the target."""
    kind = pick(DRAFTS, name, "draft")
    small = {key: value for key, value in SMALL.items()
             if (kind.trainable or kind.weights_of) and key in kind.Config.model_fields}
    with torch.random.fork_rng(devices=[]):
        draft = make_draft(name, small | MODES[mode], D, torch.tensor(VOCABULARY)).to(target.dtype)
    generator = torch.Generator().manual_seed(1)
    for parameter in draft.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=target.dtype) * 0.4
    return draft.attach(target.ends).eval()
