"""An answer together with the logits its tokens were taken from, and with other ends than its own.

It watches the real loop from outside: the target it hands over is the given one, and tells what it computed.
"""

import copy
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from flashbench.verify.compare import first_difference
from specflash.decoding import Decoding, generate
from specflash.drafts.base import Draft
from specflash.records import Generation, Prompt
from specflash.sampling import Sampling
from specflash.targets.base import Target


def spoken(target: Target, draft: Draft, prompt: Prompt, sampling: Sampling,
           width: int | None) -> tuple[Generation, Tensor]:
    """The answer and, row by row, the logits that each of its n tokens was taken from [n, V]."""
    computed: list[Tensor] = []
    watched = copy.copy(target)

    def forward(*arguments, **named):
        output = target.forward(*arguments, **named)
        computed.append(output.logits[0])
        return output

    watched.forward = forward
    decoding = Decoding(watched, draft, prompt, sampling, width)
    rows = [computed.pop()[: len(tokens)].clone() for tokens in decoding]
    return decoding.generation, torch.cat(rows)


def first_other_row(ours: Tensor, reference: Tensor) -> int | None:
    """The first row that differs in any bit of any logit, or is missing on one side; None where there is none."""
    rows = min(len(ours), len(reference))
    other = (ours[:rows] != reference[:rows]).any(-1).nonzero().flatten()
    if len(other):
        return int(other[0])
    return None if len(ours) == len(reference) else rows


def first_wrong_ending(target: Target, draft: Draft, prompt: Prompt, text: Sequence[int], cuts: int) -> int | None:
    """Where greedy decoding leaves `text` when it has to end earlier; None where it never does.

    text  vanilla's answer
    cuts  at how many of its places the answer has to end, once by the limit, once by an end token
    """
    for ended, limit, expected in _endings(target, text, cuts):
        said = generate(ended, draft, prompt, Sampling(max_new_tokens=limit)).ids
        position = first_difference(said, expected)
        if position is not None:
            return position
    return None


def _endings(target: Target, text: Sequence[int], cuts: int) -> Iterator[tuple[Target, int, list[int]]]:
    """The target with its own end tokens or another one, the limit, and what it has to say then."""
    places = sorted({1 + cut * (len(text) - 1) // max(cuts, 1) for cut in range(cuts)})
    for place in (place for place in places if place < len(text)):
        yield target, place + 1, list(text[: place + 1])
        ended = copy.copy(target)
        ended.end_ids = frozenset([text[place]])
        yield ended, len(text), list(text[: text.index(text[place]) + 1])
