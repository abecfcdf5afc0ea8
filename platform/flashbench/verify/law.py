"""The law of the next three tokens, by going through everything chance may decide in the real loop.

Nothing is drawn and nothing is re-implemented: `specflash.decoding.Decoding` runs once for every
path of decisions, with the tiny target and a tiny draft (tiny.py), and each path counts with its
probability. The target's own law comes from passes without a cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from flashbench.verify.compare import replay
from flashbench.verify.tiny import TinyTarget, modes_of, tiny_draft
from specflash.decoding import Decoding
from specflash.drafts.base import Draft
from specflash.records import Prompt
from specflash.sampling import Chance, Sampling, distribution
from specflash.targets.base import Target

TOKENS = 3
EXACT = 1e-9
CUTS = ({}, {"top_k": 2}, {"top_p": 0.8})


@dataclass(frozen=True)
class Law:
    """One draft in one mode under one sampling law.

    distance  total variation between the law of what is said and the target's own
    """

    method: str
    mode: str
    temperature: float
    top_k: int
    top_p: float
    distance: float

    @property
    def exact(self) -> bool:
        return self.distance <= EXACT


def check_laws(name: str, temperatures: tuple[float, ...]) -> list[Law]:
    """Every mode of a draft of the catalogue, at every temperature, with and without top-k and top-p."""
    laws = []
    for mode, temperature, cut in product(modes_of(name), temperatures, CUTS):
        sampling = Sampling(temperature, max_new_tokens=TOKENS + 1, **cut)
        laws.append(Law(name, mode, temperature, sampling.top_k, sampling.top_p, distance(name, mode, sampling)))
    return laws


def distance(name: str, mode: str, sampling: Sampling) -> float:
    """Total variation between what is said with the draft and the target's own law, of the first token
    and of the three behind the likeliest first one, whichever is larger.
    """
    target = TinyTarget()
    prompt, draft = target.encode(), tiny_draft(name, mode, target)
    opening = distribution(replay(target, prompt, ()), sampling)[0]                # [V]
    first = int(opening.argmax())
    said = spoken_law(target, draft, prompt, sampling, first)
    apart = (first_law(target, draft, prompt, sampling) - opening, said - own_law(target, prompt, sampling, first))
    return max(float(one.abs().sum()) / 2 for one in apart)


def first_law(target: Target, draft: Draft, prompt: Prompt, sampling: Sampling) -> Tensor:
    """Law of the token that comes from the prefill [V]"""
    law, chance = torch.zeros(target.vocabulary, dtype=torch.float64), EveryChance()
    for _ in chance.paths():
        law[next(Decoding(target, draft, prompt, sampling, chance=chance))] += chance.weight
    return law


def spoken_law(target: Target, draft: Draft, prompt: Prompt, sampling: Sampling, first: int) -> Tensor:
    """Law of the three tokens that follow the token `first` of the prefill [V, V, V]; after an end token it repeats."""
    law = torch.zeros([target.vocabulary] * TOKENS, dtype=torch.float64)
    chance = EveryChance(first)
    for _ in chance.paths():
        decoding = Decoding(target, draft, prompt, sampling, chance=chance)
        tokens = [token for item in decoding for token in item][1:]
        law[tuple(tokens + tokens[-1:] * (TOKENS - len(tokens)))] += chance.weight
    return law


def own_law(target: Target, prompt: Prompt, sampling: Sampling, first: int) -> Tensor:
    """The target's law of the three tokens after `first`, token by token without a cache [V, V, V]"""
    law = torch.zeros([target.vocabulary] * TOKENS, dtype=torch.float64)
    for text in product(range(target.vocabulary), repeat=TOKENS):
        rows = distribution(replay(target, prompt, (first, *text)), sampling)
        weight, ended = 1.0, False
        for row, token, before in zip(rows[1:], text, (None, *text), strict=False):
            ended = ended or before in target.end_ids
            weight *= float(token == before) if ended else float(row[token])
        law[text] = weight
    return law


class EveryChance(Chance):
    """Gives every answer that has a probability, one path per run.

    first   what the first question, for the token of the prefill, is answered; None: everything
    weight  probability of the path that was taken
    """

    def __init__(self, first: int | None = None):
        self.weight = 1.0
        self._path: list[list[tuple[int, float]]] = [] if first is None else [[(first, 1.0)]]
        self._step = 0

    def paths(self) -> Iterator[None]:
        while True:
            self.weight, self._step = 1.0, 0
            yield
            while self._path and len(self._path[-1]) == 1:
                self._path.pop()
            if not self._path:
                return
            self._path[-1].pop()

    def draw(self, law: Tensor) -> Tensor:
        return torch.tensor([self._decide(row / row.sum()) for row in law.double()], dtype=torch.long)

    def streak(self, probability: Tensor) -> Tensor:
        wins = probability.double().nan_to_num(0)  # 0 / 0: no random number lies below it
        alive = F.pad(wins.cumprod(0), (1, 0), value=1.0)                           # [K+1]
        return torch.tensor(self._decide(alive * (1 - F.pad(wins, (0, 1)))))

    def _decide(self, law: Tensor) -> int:
        """One of the outcomes 0 … n-1 of `law` [n]."""
        if self._step == len(self._path):
            self._path.append([(outcome, weight) for outcome, weight in enumerate(law.tolist()) if weight > 0])
        outcome, weight = self._path[self._step][-1]
        self._step += 1
        self.weight *= weight
        return outcome
