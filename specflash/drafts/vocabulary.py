"""Which tokens a draft may propose. It knows no draft, no target and no store."""

from collections.abc import Iterable

import torch
from torch import Tensor

from specflash.errors import UserError


def frequent_ids(answers: Iterable[Tensor], size: int, vocabulary: int, end_ids: Iterable[int]) -> Tensor:
    """The `size` most frequent tokens of the answers, most frequent first.

    answers     id tensors of any shape, for example `features.ids[features.answer_mask]`
    vocabulary  V of the target
    end_ids     always included: a draft that cannot propose the end wastes the last round

    Where the answers hold fewer distinct tokens, the lowest unused ids fill up (in byte-pair
    vocabularies these are the commonest pieces). Ties go to the lower id.
    Returns [size] int64. Raises UserError where `size` exceeds the target's vocabulary.
    """
    if size > vocabulary:
        raise UserError(f"a draft vocabulary of {size} exceeds the target's {vocabulary}; "
                        "set `vocabulary` to 0 to allow every token")
    counts = torch.zeros(vocabulary, dtype=torch.long)
    for ids in answers:
        counts += torch.bincount(ids.flatten().cpu(), minlength=vocabulary)
    counts[list(end_ids)] += counts.sum() + 1
    return counts.argsort(descending=True, stable=True)[:size]
