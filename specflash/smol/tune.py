"""The last stages of an embedded target: teach the language model to speak about what the tower sees.

One picture or clip and several conversations about it are one pass: the conversations are branches that
all see the picture and not each other, at the positions they would have alone. So the visual tokens are
paid for once, and most passes keep only some of them, each at its own position:

    ids        p p v v v n | q1 a1 a1 | q2 a2 a2 a2
    positions  0 1 2 5 6 8 | 9  10 11 | 9  10 11 12
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from specflash.data.clip_language import TELLING
from specflash.data.words import naming_words
from specflash.records import Medium, Prompt, Sample, Turn
from specflash.targets.family import Family

Conversation = list[tuple[str, str]]
NAMING_WEIGHT = 3.0
"""how much more a word that names a thing, a colour or a motion counts: only these need the picture"""


class Opening(NamedTuple):
    """What all conversations about some pictures and clips begin with.

    ids        [L]     up to where the first question starts
    positions  [k, L]  k = 3 where the target has three, else 1
    visual     [L]     bool, True at visual tokens
    """

    ids: Tensor
    positions: Tensor
    visual: Tensor


def see(target: Family, media: Sequence[Medium]) -> tuple[Opening, Prompt]:
    """The opening of conversations about `media`, and a prompt whose pixels the target can look at."""
    prompt = target.encode(Sample("", tuple(media), (Turn(""),), "tune"))
    end = prompt.prefix + 1  # a token closes the visual ones: a line break, or one of its own
    ids = prompt.ids[0, :end]
    positions = torch.arange(end)[None] if prompt.positions is None else prompt.positions[:, 0, :end]
    return Opening(ids, positions, torch.isin(ids, torch.tensor(target.visual_ids))), prompt


@dataclass(frozen=True)
class Branches:
    """ids [T]; positions [k, T]; branch [T], 0 for what all branches share; weight [T], 0 for what is not
    trained; visual [T] bool; kept [n], which of the visual tokens stand at ids[visual]."""

    ids: Tensor
    positions: Tensor
    branch: Tensor
    weight: Tensor
    visual: Tensor
    kept: Tensor


class BranchMaker:
    """Token ids of an opening with its conversations, in the chat format of the embedded targets."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.naming = {self._ids(f" {word}")[0] for word in (*naming_words(), *TELLING)}

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def __call__(self, opening: Opening, conversations: list[Conversation], kept: Tensor) -> Branches:
        """kept: [n] int64, ascending: the visual tokens that are kept."""
        stays = ~opening.visual
        stays[opening.visual.nonzero().flatten()[kept]] = True
        start = int(opening.positions.max()) + 1
        ids, positions = [opening.ids[stays]], [opening.positions[:, stays]]
        branch, weight = [torch.zeros(int(stays.sum()))], [torch.zeros(int(stays.sum()))]
        for number, conversation in enumerate(conversations, start=1):
            spoken, weights = self._conversation(conversation)
            ids.append(torch.tensor(spoken))
            positions.append(torch.arange(start, start + len(spoken)).expand(len(opening.positions), -1))
            branch.append(torch.full((len(spoken),), float(number)))
            weight.append(torch.tensor(weights))
        whole = torch.cat(ids)
        visual = torch.zeros_like(whole, dtype=torch.bool)
        visual[: int(stays.sum())] = opening.visual[stays]
        return Branches(whole, torch.cat(positions, 1), torch.cat(branch), torch.cat(weight), visual, kept)

    def _conversation(self, conversation: Conversation) -> tuple[list[int], list[float]]:
        spoken: list[int] = []
        weight: list[float] = []
        for number, (question, answer) in enumerate(conversation):
            opening = "" if number == 0 else "\n<|im_start|>user\n"
            asked = self._ids(f"{opening}{question}<|im_end|>\n<|im_start|>assistant\n")
            told = self._ids(f"{answer}<|im_end|>")
            spoken += asked + told
            weight += [0.0] * len(asked) + [NAMING_WEIGHT if token in self.naming else 1.0 for token in told]
        return spoken, weight


def branch_mask(branch: Tensor) -> Tensor:
    """[1, 1, T, T] bool: the past of the same branch, and what all branches share."""
    same = (branch[:, None] == branch[None]) | (branch[None] == 0)
    return (same & torch.ones_like(same).tril())[None, None]


def caption_loss(target: Family, told: Tensor, branches: Branches) -> tuple[Tensor, Tensor]:
    """Cross-entropy at the answer tokens -> (weighted mean loss, mean entropy of the law at them).

    target  with deltas on its frozen language model
    told    [N, D], what stands at the visual tokens that the branches are about
    """
    embeds = target.embed(branches.ids)                                                # [T, D]
    embeds = embeds.masked_scatter(branches.visual[:, None], told[branches.kept])
    positions = branches.positions[:, None] if len(branches.positions) > 1 else branches.positions
    features = target.forward(embeds[None], None, positions, branch_mask(branches.branch), keep=0).features[0]
    spoken = branches.weight.nonzero().flatten()
    logits, weight = target.head(features[spoken - 1]), branches.weight[spoken]        # [A, V], [A]
    loss = (F.cross_entropy(logits, branches.ids[spoken], reduction="none") * weight).sum() / weight.sum()
    with torch.no_grad():
        law = logits.log_softmax(-1)
        entropy = -(law.exp() * law).sum(-1).mean()
    return loss, entropy
