"""Stage 3 of the embedded target: teach the language model to speak about what the tower sees.

One picture and several conversations about it are one pass: the conversations are branches that
all see the picture and not each other, at the positions they would have alone. So a picture's
visual tokens are paid for once, and most passes keep only some of them, each at its own position:

    ids        p p v v v n | q1 a1 a1 | q2 a2 a2 a2
    positions  0 1 2 5 6 8 | 9  10 11 | 9  10 11 12
"""

from dataclasses import dataclass
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from specflash.data.words import naming_words

Conversation = list[tuple[str, str]]
NAMING_WEIGHT = 3.0
"""how much more a word that names a thing or a colour counts: only these need the picture"""


@dataclass(frozen=True)
class Branches:
    """ids, positions [T]; branch [T], 0 for what all branches share; weight [T], 0 for what is not
    trained; cells [n], the picture's cells behind the visual tokens ids[visual]."""

    ids: Tensor
    positions: Tensor
    branch: Tensor
    weight: Tensor
    visual: slice
    cells: Tensor


class BranchMaker:
    """Token ids of one picture with its conversations, in llava-smol's chat format.

    visual_tokens  of a whole picture
    """

    def __init__(self, tokenizer, image_token_id: int, visual_tokens: int):
        self.tokenizer, self.image_token_id, self.visual_tokens = tokenizer, image_token_id, visual_tokens
        self.before = self._ids("<|im_start|>user\n")
        self.after = self._ids("\n")
        self.naming = {self._ids(f" {word}")[0] for word in naming_words()}

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def __call__(self, conversations: list[Conversation], cells: Tensor) -> Branches:
        """cells: [n] int64, ascending: the visual tokens that are kept."""
        first = len(self.before)
        ids = self.before + [self.image_token_id] * len(cells) + self.after
        start = first + self.visual_tokens + len(self.after)
        positions = [*range(first), *(first + cells).tolist(), *range(start - len(self.after), start)]
        branch, weight = [0] * len(ids), [0.0] * len(ids)
        for number, conversation in enumerate(conversations, start=1):
            spoken, weights = self._conversation(conversation)
            ids += spoken
            positions += range(start, start + len(spoken))
            branch += [number] * len(spoken)
            weight += weights
        return Branches(torch.tensor(ids), torch.tensor(positions), torch.tensor(branch),
                        torch.tensor(weight), slice(first, first + len(cells)), cells)

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


def choose_cells(shown: Tensor, count: int, rng: Random) -> Tensor:
    """`count` of the picture's cells, ascending: those that show a thing first, then background.

    shown  [N] bool, True where a cell shows a thing

    Most of the training keeps few visual tokens and is that much cheaper; the last part keeps all.
    """
    order = sorted(range(len(shown)), key=lambda cell: (not shown[cell], rng.random()))
    return torch.tensor(sorted(order[:count]))


def caption_loss(model, pixels: Tensor, branches: Branches) -> tuple[Tensor, Tensor]:
    """Cross-entropy at the answer tokens -> (weighted mean loss, mean entropy of the law at them).

    model   LLaVA with deltas on its frozen language model
    pixels  [1, 3, 336, 336]
    """
    seen = model.get_image_features(pixels, vision_feature_layer=-1,
                                    vision_feature_select_strategy="default").pooler_output[0]  # [N, D]
    embeds = model.get_input_embeddings()(branches.ids)                                # [T, D]
    embeds = torch.cat([embeds[:branches.visual.start], seen[branches.cells], embeds[branches.visual.stop:]])
    features = model.model.language_model(inputs_embeds=embeds[None], attention_mask=branch_mask(branches.branch),
                                          position_ids=branches.positions[None], use_cache=False
                                          ).last_hidden_state[0]                       # [T, D]
    spoken = branches.weight.nonzero().flatten()
    logits, weight = model.lm_head(features[spoken - 1]), branches.weight[spoken]      # [A, V], [A]
    loss = (F.cross_entropy(logits, branches.ids[spoken], reduction="none") * weight).sum() / weight.sum()
    with torch.no_grad():
        law = logits.log_softmax(-1)
        entropy = -(law.exp() * law).sum(-1).mean()
    return loss, entropy
