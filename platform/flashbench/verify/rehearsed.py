"""Drafts for checking the engine: one that knows the answer, and one that says less than it could."""

import torch
from torch import Tensor

from specflash.cache import HEADROOM
from specflash.drafts.base import Draft, DraftConfig, LossParts, Session
from specflash.records import Batch, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling
from specflash.targets.base import Ends
from specflash.trees import ROOT

RIGHT = 0.7


class Rehearsed(Draft):
    """Drafts k tokens of a text it knows, each right with probability 0.7: every number of kept tokens occurs."""

    name = "rehearsed"
    trainable = False

    def __init__(self, k: int, text: list[int], vocabulary: int):
        super().__init__(DraftConfig(width=1, k=k))
        self.text, self.vocabulary = text, vocabulary

    def attach(self, ends: Ends) -> "Rehearsed":
        return self

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return RehearsedSession(self, output.features.device)

    def loss(self, batch: Batch) -> LossParts:
        raise NotImplementedError("a text that is known is not trained")


class RehearsedSession(Session):
    def __init__(self, draft: Rehearsed, device: torch.device):
        self._draft, self._device, self._said = draft, device, 1
        self._errors = torch.Generator().manual_seed(draft.config.k)

    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        draft = self._draft
        tokens = torch.tensor(draft.text[self._said :][: max(0, min(limit, draft.config.k))], dtype=torch.long)
        wrong = torch.rand(len(tokens), generator=self._errors) >= RIGHT
        tokens = torch.where(wrong, (tokens + 1) % draft.vocabulary, tokens)
        return Proposal(tokens.to(self._device))

    def advance(self, ids: Tensor, features: Tensor) -> None:
        self._said += len(ids)


class RehearsedTree(Rehearsed):
    """The same as a tree: beside each of the k tokens there is another one, before it or behind it."""

    name = "rehearsed-tree"

    def __init__(self, k: int, text: list[int], vocabulary: int):
        super().__init__(min(k, (HEADROOM - 1) // 2), text, vocabulary)

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return RehearsedTreeSession(self, output.features.device)


class RehearsedTreeSession(RehearsedSession):
    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        chain = super().propose(sampling, chance, limit).tokens
        if not len(chain):
            return Proposal(chain)
        pairs = torch.stack([chain, (chain + 2) % self._draft.vocabulary], 1)      # [k, 2]
        swapped = torch.rand(len(chain), generator=self._errors) < 0.5
        swapped = swapped.to(self._device)
        places = (2 * torch.arange(len(chain), device=self._device) + swapped).tolist()  # of the chain's tokens
        tokens = torch.where(swapped[:, None], pairs.flip(1), pairs).flatten()
        return Proposal(tokens, parents=tuple(before for before in (ROOT, *places[:-1]) for _ in range(2)))


REHEARSED: dict[str, type[Rehearsed]] = {kind.name: kind for kind in (Rehearsed, RehearsedTree)}


class AtMost(Draft):
    """Another draft, asked for at most k tokens a round."""

    name = "at-most"
    trainable = False

    def __init__(self, draft: Draft, k: int):
        super().__init__(DraftConfig(width=draft.config.width, k=k))
        self.inner = draft

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        return AtMostSession(self.inner.start(prompt, output, token, capacity), self.config.k)

    def loss(self, batch: Batch) -> LossParts:
        raise NotImplementedError("it is the other draft that is trained")


class AtMostSession(Session):
    def __init__(self, session: Session, k: int):
        self._session, self._k = session, k

    def propose(self, sampling: Sampling, chance: Chance, limit: int) -> Proposal:
        return self._session.propose(sampling, chance, min(limit, self._k))

    def advance(self, ids: Tensor, features: Tensor) -> None:
        self._session.advance(ids, features)
