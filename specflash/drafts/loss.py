"""The losses drafts are trained with. They know no draft's insides.

    draft_loss   Smooth-L1(ĥ, h)  +  0.1 · soft cross-entropy of the LM head's laws at ĥ and at h
    law_loss     soft cross-entropy of the LM head's laws at ĥ and at h, slot by slot weighted

averaged over the trained rows. The first is EAGLE's (arXiv 2401.15077, §4.2), which SpecFLASH
keeps: for drafts that regress to features. The second is for those that only speak tokens.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from specflash.drafts.anchors import Anchors
from specflash.drafts.base import Draft, LossParts
from specflash.records import Batch

CLASSIFICATION_WEIGHT = 0.1
CHUNK = 256  # rows whose logits are in memory at a time


def draft_loss(draft: Draft, batch: Batch, anchors: Anchors, predicted: Tensor) -> LossParts:
    """predicted  [R, D]  drafted features of the trained rows, in the order of `anchors`

    The target's law comes from its true features; with a draft vocabulary both laws are
    restricted to it and renormalised. A row is correct where the draft's most likely token is the
    target's: of the whole vocabulary in eval mode, whose figures are reported; of the draft
    vocabulary while training, where the other columns would be computed for nothing else.
    """
    wanted, entropy, hit = _against_laws(draft, batch, anchors, predicted)
    distance = F.smooth_l1_loss(predicted.float(), wanted.float(), reduction="sum")
    regression = distance / predicted.shape[-1]  # mean over D, sum over rows
    classification = entropy.sum()
    loss = (regression + CLASSIFICATION_WEIGHT * classification) / max(len(predicted), 1)
    return _account(draft, anchors, hit, loss,
                    {"regression": regression.item(), "classification": classification.item()})


def law_loss(draft: Draft, batch: Batch, anchors: Anchors, predicted: Tensor, decay: float = 1.0) -> LossParts:
    """predicted  [R, D]  what the draft gives the frozen LM head, in the order of `anchors`
    decay      slot i counts decay^i

    Laws and the count of correct rows are those of `draft_loss`.
    """
    _, entropy, hit = _against_laws(draft, batch, anchors, predicted)
    loss = (entropy * decay ** anchors.slot).sum() / max(len(predicted), 1)
    return _account(draft, anchors, hit, loss, {"classification": entropy.sum().item()})


def _against_laws(draft: Draft, batch: Batch, anchors: Anchors, predicted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """True features of the rows [R, D], cross-entropy of the two laws [R], and which rows are correct [R]."""
    wanted = batch.features[anchors.sample, anchors.target]
    position = anchors.sample * batch.ids.shape[1] + anchors.target               # [R]
    return wanted, *_SoftCrossEntropy.apply(predicted, wanted, position, draft)


def _account(draft: Draft, anchors: Anchors, hit: Tensor, loss: Tensor, parts: dict[str, float]) -> LossParts:
    """hit  [R] bool  rows whose most likely token is the target's"""
    return LossParts(loss, len(hit),
                     correct=torch.bincount(anchors.slot[hit], minlength=draft.config.k),
                     total=torch.bincount(anchors.slot, minlength=draft.config.k), parts=parts)


class _SoftCrossEntropy(torch.autograd.Function):
    """-Σ_v p(v) log q(v) of each row [R], and which rows have the target's most likely token [R].

    The head is frozen, so the gradient (q - p)·head is formed in the forward pass, chunk by
    chunk: at no time do logits of more than CHUNK rows exist. Up to K rows share one true
    feature; sorted by it, they share one row of the target's logits.
    """

    @staticmethod
    def forward(ctx, predicted: Tensor, wanted: Tensor, position: Tensor,
                draft: Draft) -> tuple[Tensor, Tensor]:
        entropy = torch.zeros(len(predicted), device=predicted.device)
        hit = torch.zeros(len(predicted), dtype=torch.bool, device=predicted.device)
        gradient = torch.zeros_like(predicted)
        for chunk in position.argsort().split(CHUNK):
            p, best = _target_law(draft, wanted[chunk], position[chunk])          # [r, V_d], [r]
            logits = draft.draft_logits(predicted[chunk]).float()                 # [r, V_d]
            log_q = logits.log_softmax(-1)
            entropy[chunk] = -(p * log_q).sum(-1)
            hit[chunk] = draft.target_ids(logits.argmax(-1)) == best
            if ctx.needs_input_grad[0]:
                gradient[chunk] = draft.pull_back(log_q.exp() - p).to(gradient.dtype)
        ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(hit)
        return entropy, hit

    @staticmethod
    def backward(ctx, scale: Tensor, _: Tensor) -> tuple[Tensor, None, None, None]:
        gradient, = ctx.saved_tensors                                             # [R, D]
        return scale[:, None].to(gradient.dtype) * gradient, None, None, None


def _target_law(draft: Draft, wanted: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
    """The target's law over the draft vocabulary [r, V_d] and its most likely token [r].

    Rows of equal `position` stand together and have the same true feature.
    """
    _, row, count = position.unique_consecutive(return_inverse=True, return_counts=True)
    first = count.cumsum(0) - count                                               # [u]
    if draft.training:
        logits = draft.draft_logits(wanted[first])                                # [u, V_d]
        best = draft.target_ids(logits.argmax(-1))
    else:
        whole = draft.ends.head(wanted[first].to(draft.ends.lm_head.dtype))       # [u, V]
        logits, best = draft.restrict(whole), whole.argmax(-1)
    return logits.float().softmax(-1)[row], best[row]
