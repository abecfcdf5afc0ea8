"""Drafts that propose any tree with the right tokens on some path of it. They know the text."""

import itertools
import random

import torch

from specflash.records import Proposal
from specflash.trees import ROOT
from tests.decoding.scripted import Scripted, ScriptedSession


def a_tree(right: list[int], nodes: int, depth: int, luck: random.Random) -> Proposal:
    """Any tree of so many nodes; the right tokens, as far as they go, lie on some path of it."""
    parents: list[int] = []
    level: list[int] = []
    for node in range(nodes):
        parent = luck.choice([other for other in (ROOT, *range(node)) if other == ROOT or level[other] < depth])
        parents.append(parent)
        level.append(level[parent] + 1 if parent != ROOT else 1)
    tokens = [-1] * nodes
    good = ROOT
    for number, parent in enumerate([ROOT, *range(nodes)]):
        children = [node for node in range(nodes) if parents[node] == parent]
        reached = 0 if parent == ROOT else level[parent]
        wrong = (token for token in itertools.count(luck.randrange(200)) if token not in right)
        for child in children:
            tokens[child] = next(wrong)
        if parent == good and children and reached < len(right) and luck.random() < 0.8:
            good = luck.choice(children)
            tokens[good] = right[reached]
        assert number <= nodes
    return Proposal(torch.tensor(tokens), parents=tuple(parents))


class Trees(Scripted):
    """Drafts trees that know the text."""

    def __init__(self, text: list[int], nodes: int, seed: int):
        super().__init__(nodes, lambda committed: text[len(committed):])
        self.luck = random.Random(seed)

    def start(self, prompt, output, token, capacity):
        self.sessions.append(TreeSession(self, output, token))
        return self.sessions[-1]


class TreeSession(ScriptedSession):
    def propose(self, sampling, chance, limit):
        if limit < 1:
            return Proposal(torch.zeros(0, dtype=torch.long))
        return a_tree(self.draft.script(self.committed)[:limit], self.draft.config.k, limit, self.draft.luck)
