"""Drafts of a few lines that say what a script says, and what holds for every generation."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from specflash.decoding import generate
from specflash.drafts.base import Draft, DraftConfig, LossParts, Session
from specflash.drafts.vanilla import Vanilla
from specflash.records import Batch, Generation, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling
from specflash.targets.base import Ends, Target
from tests.tiny import make_sample, picture

NEW = 16
Script = Callable[[list[int]], list[int]]
"""committed answer tokens -> what to draft next"""


class Scripted(Draft):
    """Drafts what a script says. `sessions` keeps what every request was told."""

    name = "scripted"

    def __init__(self, k: int, script: Script, q: Tensor | None = None):
        super().__init__(DraftConfig(width=1, k=k))
        self.script, self.q = script, q
        self.sessions: list[ScriptedSession] = []

    def attach(self, ends: Ends) -> "Scripted":
        return self

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        self.sessions.append(ScriptedSession(self, output, token))
        return self.sessions[-1]

    def loss(self, batch: Batch) -> LossParts:
        raise NotImplementedError


class ScriptedSession(Session):
    def __init__(self, draft: Scripted, output: Output, token: int):
        self.draft = draft
        self.committed = [token]
        self.features = [output.features[0]]

    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        count = min(self.draft.config.k, limit)
        if self.draft.q is None:
            return Proposal(torch.tensor(self.draft.script(self.committed)[:count], dtype=torch.long))
        q = self.draft.q[:count]                                                # [count, V]
        tokens = chance.draw(q)
        return Proposal(tokens, q)

    def advance(self, ids: Tensor, features: Tensor) -> None:
        assert len(ids) == len(features)
        self.committed += ids.tolist()
        self.features.append(features)


def oracle(text: list[int]) -> Script:
    return lambda committed: text[len(committed):]


def wrong(text: list[int]) -> Script:
    return lambda committed: [(token + 1) % 300 for token in text[len(committed):]]


def right_then_wrong(text: list[int], right: int) -> Script:
    return lambda committed: (oracle(text)(committed)[:right] + wrong(text)(committed)[right:])


def random_mix(text: list[int], seed: int) -> Script:
    """Each token right with probability 0.7, else any token."""
    generator = torch.Generator().manual_seed(seed)

    def script(committed: list[int]) -> list[int]:
        right = text[len(committed):]
        other = torch.randint(300, (len(right),), generator=generator).tolist()
        lucky = (torch.rand(len(right), generator=generator) < 0.7).tolist()
        return [right[j] if lucky[j] else other[j] for j in range(len(right))]
    return script


VANILLA = Vanilla(Vanilla.Config(width=32))
SAMPLES = {
    "text": make_sample("Tell me about the sea.", media=()),
    "picture": make_sample("What is it?"),
    "two pictures": make_sample("Compare them.", media=(picture(), picture((20, 90, 200)))),
}


def greedy(new: int = NEW) -> Sampling:
    return Sampling(max_new_tokens=new)


def with_ends(target: Target, *ends: int) -> Target:
    other = copy.copy(target)
    other.end_ids = frozenset(ends)
    return other


def unending(target: Target, prompt: Prompt, new: int = NEW) -> list[int]:
    return generate(with_ends(target), VANILLA, prompt, greedy(new)).ids


def check_account(done: Generation, sampling: Sampling) -> None:
    """What holds for every generation."""
    assert len(done.kept) == len(done.drafted) == len(done.committed)
    assert 1 + sum(done.committed) == len(done.ids) <= sampling.max_new_tokens
    assert all(kept <= drafted for kept, drafted in zip(done.kept, done.drafted, strict=True))
    whole = zip(done.kept[:-1], done.committed[:-1], strict=True)
    assert all(committed == kept + 1 for kept, committed in whole)  # only the last pass is ever cut
