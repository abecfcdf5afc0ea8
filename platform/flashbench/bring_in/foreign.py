"""One feature file of FlashSD or EAGLE as a sample of ours, or the reason why it is none. It knows no store.

    EAGLE              hidden_state [L, D]      input_ids [L]     loss_mask [L]
    FlashSD, pictures  hidden_state [L, D]      input_ids [L]     loss_mask [L]     inputs_embeds [L, D]
    FlashSD, clips     hidden_states [1, L, D]  input_ids [1, P]  prompt_len P      input_emb [1, L, D]

A clip's file has no ids of the answer: they are looked up among the target's embeddings, which `input_emb` holds
there. Only tensors and plain values are loaded, never a program (`weights_only`).
"""

from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from pickle import UnpicklingError

import torch
from torch import Tensor

from specflash.errors import UserError, one_line
from specflash.records import Features, Span

HIDDEN = ("hidden_state", "hidden_states")
EMBEDS = ("inputs_embeds", "input_emb")
COMPARED = 64
"""Text positions at which a file's embeddings are held against the target's."""
CLOSE = 0.02
"""Difference of two embeddings, relative to their length, below which they are the same in fp16 or bf16."""


@dataclass(frozen=True)
class Frame:
    """What a file has to fit.

    table       the target's token embeddings [V, D]
    visual      ids that stand for visual tokens
    max_length  tokens of a sample at most
    """

    table: Tensor
    visual: frozenset[int]
    max_length: int
    _places: dict[torch.dtype, dict[int, int]] = field(default_factory=dict, repr=False)

    def ids_of(self, embeds: Tensor) -> Tensor:
        """The tokens whose embeddings these rows are, number for number. [n, D] -> [n] int64

        Raises UserError where a row is no token's.
        """
        table = self.table.to(embeds.dtype)
        if embeds.dtype not in self._places:
            self._places[embeds.dtype] = {hash(_bytes_of(row)): id for id, row in reversed(list(enumerate(table)))}
        ids = [self._places[embeds.dtype].get(hash(_bytes_of(row)), 0) for row in embeds]
        if not torch.equal(table[ids], embeds):
            raise UserError("an embedding in it that is none of the target's tokens: dumped from other weights")
        return torch.tensor(ids, dtype=torch.int64)


def read_foreign(path: Path, frame: Frame) -> Features:
    """Raises UserError where the file is damaged, is something else, or is of another target."""
    entries = _load(path)
    hidden = _matrix(entries, HIDDEN)
    if hidden is None:
        raise UserError(f"no {' or '.join(HIDDEN)} in it; it has {', '.join(map(str, list(entries)[:8])) or 'nothing'}")
    if hidden.shape[1] != frame.table.shape[1]:
        raise UserError(f"features of width {hidden.shape[1]}, and the target's are {frame.table.shape[1]} wide")
    embeds = _matrix(entries, EMBEDS)
    ids = _ids(entries, hidden, embeds, frame)
    mask = _answer_mask(entries, len(ids))
    if not torch.isfinite(hidden).all():
        raise UserError("features that are not finite")
    if embeds is not None:
        _check_embeddings(ids, embeds, frame)
    features, spans = hidden.to(torch.bfloat16), _spans(ids, frame.visual)           # [L, D]
    return Features(id=_id(ids, features), ids=ids, features=features, spans=spans, answer_mask=mask)


def _load(path: Path) -> dict:
    try:
        entries = torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError, TypeError, AttributeError,
            IndexError) as error:
        raise UserError(f"not a file of tensors alone: {one_line(error)[:200]}") from None
    if not isinstance(entries, dict):
        raise UserError(f"a {type(entries).__name__}, not a dictionary of tensors")
    return entries


def _matrix(entries: dict, names: tuple[str, ...]) -> Tensor | None:
    """The first entry of these names as [L, D] numbers; None where there is none."""
    name = next((name for name in names if name in entries), None)
    if name is None:
        return None
    found = entries[name]
    if isinstance(found, Tensor) and found.dim() == 3 and len(found) == 1:
        found = found[0]
    if not isinstance(found, Tensor) or found.dim() != 2 or not found.is_floating_point():
        raise UserError(f"`{name}` is not a table of numbers [L, D]")
    return found


def _ids(entries: dict, hidden: Tensor, embeds: Tensor | None, frame: Frame) -> Tensor:
    """Token ids [L] int64, one per row of the features."""
    ids = _row(entries, "input_ids")
    if ids is None:
        raise UserError("no `input_ids` in it")
    if len(ids) < len(hidden) and "prompt_len" in entries and embeds is not None and len(embeds) == len(hidden):
        ids = torch.cat([ids, frame.ids_of(embeds[len(ids):])])
    if len(ids) != len(hidden):
        raise UserError(f"{len(ids)} token ids for {len(hidden)} rows of features")
    if len(ids) > frame.max_length:
        raise UserError(f"{len(ids)} tokens are more than dump.max_length={frame.max_length}")
    if len(ids) == 0 or int(ids.min()) < 0 or int(ids.max()) >= len(frame.table):
        raise UserError(f"token ids outside the target's vocabulary of {len(frame.table)}")
    return ids


def _answer_mask(entries: dict, length: int) -> Tensor:
    """[L] bool"""
    prompt = entries.get("prompt_len")
    mask = _row(entries, "loss_mask")
    if mask is None and prompt is not None:
        mask = torch.arange(length) >= int(prompt)
    if mask is None:
        raise UserError("neither `loss_mask` nor `prompt_len` in it")
    if len(mask) != length:
        raise UserError(f"a loss mask of {len(mask)} for {length} tokens")
    if not mask.any():
        raise UserError("no answer token to train on")
    return mask.bool()


def _row(entries: dict, name: str) -> Tensor | None:
    """Integers [L], given as such or as [1, L]; None where there is no such entry."""
    if name not in entries:
        return None
    found = entries[name]
    found = torch.tensor(found) if isinstance(found, list) else found
    if isinstance(found, Tensor) and found.dim() == 2 and len(found) == 1:
        found = found[0]
    if not isinstance(found, Tensor) or found.dim() != 1 or found.is_complex():
        raise UserError(f"`{name}` is not a row of numbers [L]")
    return found.long()


def _check_embeddings(ids: Tensor, embeds: Tensor, frame: Frame) -> None:
    """Raises UserError where the text's embeddings are not the target's: then its features are not, either."""
    if embeds.shape != (len(ids), frame.table.shape[1]):
        raise UserError(f"embeddings of shape {list(embeds.shape)} for {len(ids)} tokens")
    text = [place for place, id in enumerate(ids.tolist()) if id not in frame.visual][:COMPARED]
    own = frame.table[ids[text]].float()                                             # [n, D]
    if ((embeds[text].float() - own).norm(dim=1) > CLOSE * own.norm(dim=1) + 1e-6).any():
        raise UserError("its embeddings are not the target's: dumped from other weights")


def _spans(ids: Tensor, visual: frozenset[int]) -> tuple[Span, ...]:
    """(start, length) of each unbroken run of one placeholder."""
    spans, start = [], 0
    for id, run in groupby(ids.tolist()):
        length = len(list(run))
        if id in visual:
            spans.append((start, length))
        start += length
    return tuple(spans)


def _id(ids: Tensor, features: Tensor) -> str:
    """32 hex digits of what is in the file: its pictures and text are not known."""
    digest = sha256(ids.numpy().tobytes())
    digest.update(_bytes_of(features))
    return digest.hexdigest()[:32]


def _bytes_of(numbers: Tensor) -> bytes:
    return numbers.contiguous().view(torch.uint8).numpy().tobytes()
