"""Prompt look-up: what followed the same words before may follow them again. It knows no target.

Nothing is trained. The last n tokens, with n as large as finds anything from `max_ngram` down to
1, are looked up among the tokens committed so far, prompt and answer; what followed them there is
drafted. With max_ngram = 2 and k = 3:

    committed   the cat sat . the cat
    known       (the, cat) was followed by  sat . the cat
    drafted     sat . the

Source: prompt look-up decoding (A. Saxena, 2023, github.com/apoorvumang/prompt-lookup-decoding) and
"Inference with Reference" (arXiv 2304.04487). It departs from them in two places: of several
matches the last one is taken (the first there), because an answer repeats itself more than its
prompt; and visual placeholders are a wall, neither matched nor drafted, because every picture's
are the same token and say nothing about what it shows.
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from specflash.drafts.base import Draft, DraftConfig, LossParts, Session
from specflash.drafts.layout import visual_mask
from specflash.records import Batch, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling
from specflash.targets.base import Ends


class NgramConfig(DraftConfig):
    """max_ngram  most tokens that are looked up at once

    The other two settings of every draft have nothing to choose here: a token that is copied has
    a one-hot law, and only tokens of the text are copied.
    """

    max_ngram: int = Field(3, ge=1)
    vocabulary: Literal[0] = 0
    sampled: Literal[False] = False


class Ngram(Draft):
    name = "ngram"
    Config: ClassVar[type[DraftConfig]] = NgramConfig
    config: NgramConfig
    trainable = False

    def attach(self, ends: Ends) -> "Ngram":
        return self

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        visual = visual_mask([prompt.spans], prompt.length, prompt.ids.device)
        walls = set(prompt.ids[visual].tolist())
        session = NgramSession(self.config, walls, prompt.ids.device)
        session.extend([*prompt.ids[0].tolist(), token])
        return session

    def loss(self, batch: Batch) -> LossParts:
        raise NotImplementedError("n-grams are looked up, not trained")


class NgramSession(Session):
    """The committed tokens, and where each n-gram among them was last followed by a token.

    It lives on the host: finding a match of unknown length there costs less than a kernel.
    """

    def __init__(self, config: NgramConfig, walls: set[int], device: torch.device):
        self._config, self._walls, self._device = config, walls, device
        self._text: list[int] = []
        self._room = 0  # tokens since the last wall, the most an n-gram may reach back
        self._followed: dict[tuple[int, ...], int] = {}

    def extend(self, ids: list[int]) -> None:
        for token in ids:
            if token in self._walls:
                self._room = -1
            else:
                for ngram in self._endings():
                    self._followed[ngram] = len(self._text)
            self._text.append(token)
            self._room += 1

    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        tokens = self._look_up(max(0, min(limit, self._config.k)))
        return Proposal(torch.tensor(tokens, dtype=torch.long, device=self._device))

    def advance(self, ids: Tensor, features: Tensor) -> None:
        self.extend(ids.tolist())

    def _look_up(self, count: int) -> list[int]:
        """At most `count` tokens that followed the longest known ending."""
        for ngram in self._endings():
            if ngram in self._followed:
                start = self._followed[ngram]
                return self._until_a_wall(self._text[start : start + count])
        return []

    def _endings(self) -> list[tuple[int, ...]]:
        """What the text ends with, the longest first."""
        longest = min(self._config.max_ngram, self._room)
        return [tuple(self._text[-n:]) for n in range(longest, 0, -1)]

    def _until_a_wall(self, tokens: list[int]) -> list[int]:
        walls = (place for place, token in enumerate(tokens) if token in self._walls)
        return tokens[: next(walls, len(tokens))]
