"""Small random samples and drafts for the tests of this folder."""

import torch
from torch import Tensor

from specflash.drafts.base import Draft, Session
from specflash.drafts.store import make_draft
from specflash.records import Features, Output, Prompt, Proposal, Span
from specflash.targets.base import Ends

D, V, K = 16, 40, 4

SETTINGS = {
    "specflash": {"k": K, "latents": 3, "head_dim": 8},
    "specflash-base": {"k": K, "latents": 3, "head_dim": 8},
    "eagle": {"k": K, "head_dim": 8, "inner": 24},
    "eagle-vlm": {"k": K, "head_dim": 8, "inner": 24},
    "specvlm": {"k": K, "head_dim": 8, "inner": 24, "prune": 4, "pool": 4},
    "dream": {"k": K, "head_dim": 8, "inner": 24, "pool": 4, "inner_layer": 0},
    "medusa": {"k": K},
    "text-only": {"k": K, "head_dim": 8, "inner": 24},
}
SETTINGS["specflash-tree"], SETTINGS["eagle2"] = SETTINGS["specflash"], SETTINGS["eagle"]
SETTINGS["eagle-tree"] = SETTINGS["eagle"]

NO_PICTURE: tuple[Span, ...] = ()
ONE_PICTURE: tuple[Span, ...] = ((2, 9),)
TWO_PICTURES: tuple[Span, ...] = ((2, 5), (10, 2))
"""Two pictures of different sizes with text between; the second has fewer tokens than latents."""


def ends() -> Ends:
    generator = torch.Generator().manual_seed(5)
    return Ends(torch.randn(V, D, generator=generator), torch.randn(V, D, generator=generator))


def features(length: int, spans: tuple[Span, ...] = (), answers: tuple[tuple[int, int], ...] = (),
             seed: int = 0) -> Features:
    """A random sample; `answers` are (start, end) of the answers."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.zeros(length, dtype=torch.bool)
    for start, end in answers:
        mask[start:end] = True
    return Features(f"sample-{seed}", torch.randint(0, V, (length,), generator=generator),
                    torch.randn(length, D, generator=generator), spans, mask,
                    inner=3 * torch.randn(length, D, generator=generator))


def draft(name: str, vocabulary_ids: Tensor | None = None, **settings) -> Draft:
    """A draft in eval mode whose every parameter is random, so that nothing is 0 by its start."""
    if vocabulary_ids is not None:
        settings["vocabulary"] = len(vocabulary_ids)
    made = make_draft(name, {**SETTINGS[name], **settings}, D, vocabulary_ids)
    generator = torch.Generator().manual_seed(1)
    for parameter in made.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.15
    if name == "dream":  # else what it sees of the inner states would be lost in rounding
        for small in (made.block.gate, made.block.inner_norm.weight, made.block.query_norm.weight):
            small.data += 2
    return made.attach(ends()).eval()


def known(made: Draft, sample: Features, tokens: int | None = None) -> Output:
    """What the target gives this draft of the sample, or of its first tokens."""
    inner = None if made.inner_layer is None else sample.inner[None, :tokens]
    return Output(sample.features[None, :tokens], torch.empty(0), inner)


def open_session(made: Draft, sample: Features, prompt: int) -> Session:
    """A session whose prompt is the first `prompt` tokens and whose first token is the next one."""
    asked = Prompt(sample.ids[None, :prompt], {}, sample.spans, sample.answer_mask[None, :prompt])
    return made.start(asked, known(made, sample, prompt), int(sample.ids[prompt]), capacity=len(sample.ids) + K + 1)


def follow(made: Draft, sample: Features) -> list[Tensor]:
    """Make the draft draft the sample's own tokens; returns the list its features go to.

    Set `made.committed` to the number of committed tokens before `propose`.
    """
    seen: list[Tensor] = []

    def choose(rows: Tensor, *_) -> Proposal:
        start = made.committed + sum(len(part) for part in seen)
        seen.append(rows)
        places = torch.arange(start, start + len(rows)).clamp(max=len(sample.ids) - 1)
        return Proposal(sample.ids[places])

    made.choose = choose
    return seen
