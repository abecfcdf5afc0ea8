"""Held-out figures of a draft: loss, slot accuracy, simulated accept length. It knows no optimiser."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from flashbench.train.data import Plan, Reader
from specflash.drafts.base import LossParts
from specflash.errors import UserError


@dataclass
class Sums:
    """What many batches add up to, on this rank or (after `over_ranks`) on all.

    values  [2 + 2K] float64: loss × rows, rows, correct per slot, total per slot
    """

    values: Tensor

    @classmethod
    def empty(cls, slots: int, device: torch.device) -> "Sums":
        return cls(torch.zeros(2 + 2 * slots, dtype=torch.float64, device=device))

    def add(self, parts: LossParts) -> None:
        head = torch.stack([parts.loss.detach().double() * parts.rows,
                            torch.tensor(float(parts.rows), device=self.values.device).double()])
        self.values += torch.cat([head, parts.correct.double(), parts.total.double()])

    def over_ranks(self) -> "Sums":
        everyone = self.values.clone()
        torch.distributed.all_reduce(everyone)
        return Sums(everyone)

    @property
    def loss(self) -> float:
        """Mean over rows. Raises UserError where there is none."""
        if not self.values[1]:
            raise UserError("no answer has two tokens in a row, so there is nothing for a draft to learn: dump samples "
                            "with longer answers, or, where the held-out ones are too few, raise train.held_out")
        return float(self.values[0] / self.values[1])

    @property
    def slot_accuracy(self) -> list[float]:
        """Share of each slot's rows where the draft's most likely token is the target's.

        Rows of slot i are counted whether or not the slots before it were right (slot accuracy,
        not the accuracy given that all earlier ones were accepted). A draft whose slots hear earlier
        ones is given the text's tokens for theirs: verification keeps slot i only behind right ones.
        """
        correct, total = self.values[2:].reshape(2, -1)
        return (correct / total.clamp(min=1)).tolist()


def simulated_accept_length(slot_accuracy: Sequence[float]) -> float:
    """1 + Σ_i Π_{j≤i} a_j: tokens per verification pass if slots were right independently.

    With slot accuracies a_j in place of conditional ones this is usually too low (a base that is
    easy for one slot is easy for the next), so it ranks epochs and drafts; decoding measures A.
    """
    length, alive = 1.0, 1.0
    for accuracy in slot_accuracy:
        alive *= accuracy
        length += alive
    return length


@torch.no_grad()
def evaluate(draft: nn.Module, reader: Reader, plan: Plan, rank: int) -> Sums:
    """Sums over all held-out samples of all ranks. Every rank must call it."""
    draft.eval()
    sums = None
    for step in range(plan.steps_per_epoch):
        for places in plan.at(step, rank):
            parts = draft(reader.batch(places))
            sums = sums or Sums.empty(len(parts.total), parts.total.device)
            sums.add(parts)
    draft.train()
    return sums.over_ranks()
