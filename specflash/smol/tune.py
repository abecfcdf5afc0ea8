"""Stage 3 of the embedded target: teach the language model to speak about what the tower sees.

One picture and several conversations about it are one pass: the conversations are branches that
all see the picture and not each other, at the positions they would have alone. So a picture's
visual tokens are paid for once:

    ids        p p v v v v n | q1 a1 a1 | q2 a2 a2 a2
    positions  0 1 2 3 4 5 6 | 7  8  9  | 7  8  9  10
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Conversation = list[tuple[str, str]]


@dataclass(frozen=True)
class Branches:
    """ids, positions, answer [T]; branch [T] with 0 for what all branches share."""

    ids: Tensor
    positions: Tensor
    branch: Tensor
    answer: Tensor
    visual: slice


class BranchMaker:
    """Token ids of one picture with its conversations, in llava-smol's chat format."""

    def __init__(self, tokenizer, image_token_id: int):
        self.tokenizer = tokenizer
        self.image_token_id = image_token_id
        self.before = self._ids("<|im_start|>user\n")
        self.after = self._ids("\n")

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def __call__(self, conversations: list[Conversation], visual_tokens: int) -> Branches:
        ids = self.before + [self.image_token_id] * visual_tokens + self.after
        shared = len(ids)
        positions, branch, answer = list(range(shared)), [0] * shared, [False] * shared
        for number, conversation in enumerate(conversations, start=1):
            spoken, trained = self._conversation(conversation)
            ids += spoken
            positions += range(shared, shared + len(spoken))
            branch += [number] * len(spoken)
            answer += trained
        return Branches(torch.tensor(ids), torch.tensor(positions), torch.tensor(branch),
                        torch.tensor(answer), slice(len(self.before), len(self.before) + visual_tokens))

    def _conversation(self, conversation: Conversation) -> tuple[list[int], list[bool]]:
        spoken: list[int] = []
        trained: list[bool] = []
        for number, (question, answer) in enumerate(conversation):
            opening = "" if number == 0 else "\n<|im_start|>user\n"
            asked = self._ids(f"{opening}{question}<|im_end|>\n<|im_start|>assistant\n")
            told = self._ids(f"{answer}<|im_end|>")
            spoken += asked + told
            trained += [False] * len(asked) + [True] * len(told)
        return spoken, trained


def branch_mask(branch: Tensor) -> Tensor:
    """[1, 1, T, T] bool: the past of the same branch, and what all branches share."""
    same = (branch[:, None] == branch[None]) | (branch[None] == 0)
    return (same & torch.ones_like(same).tril())[None, None]


def pool(visual: Tensor, factor: int) -> Tensor:
    """Average visual tokens over factor × factor squares: [N, D] -> [N / factor², D].

    Most of the training sees few, coarse visual tokens and is that much cheaper; the last part
    sees all of them.
    """
    if factor == 1:
        return visual
    side = int(len(visual) ** 0.5)
    grid = visual.T.reshape(1, -1, side, side)
    return F.avg_pool2d(grid, factor).flatten(2)[0].T


def caption_loss(model, pixels: Tensor, branches: Branches, factor: int) -> tuple[Tensor, Tensor]:
    """Cross-entropy at the answer tokens -> (mean loss, per-token entropy of the law, mean).

    model   LLaVA with deltas on its frozen language model
    pixels  [1, 3, 336, 336]
    """
    seen = model.get_image_features(pixels, vision_feature_layer=-1,
                                    vision_feature_select_strategy="default").pooler_output[0]
    embeds = model.get_input_embeddings()(branches.ids)                                # [T, D]
    embeds = torch.cat([embeds[:branches.visual.start], pool(seen, factor), embeds[branches.visual.stop:]])
    features = model.model.language_model(inputs_embeds=embeds[None], attention_mask=branch_mask(branches.branch),
                                          position_ids=branches.positions[None], use_cache=False
                                          ).last_hidden_state[0]                       # [T, D]
    spoken = branches.answer.nonzero().flatten()
    logits = model.lm_head(features[spoken - 1])                                       # [A, V]
    loss = F.cross_entropy(logits, branches.ids[spoken])
    with torch.no_grad():
        law = logits.log_softmax(-1)
        entropy = -(law.exp() * law).sum(-1).mean()
    return loss, entropy
