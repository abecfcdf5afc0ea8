"""Accepted length as others count it, beside our own A, each under the names of those who use it.

It reads finished rows only. "Uncut" counts what the acceptance rule kept, tokens behind the end token
or the limit included; all else is cut there. A pass is one verification of the target, the prefill none.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specflash.metrics import Row, accept_length


@dataclass(frozen=True)
class Convention:
    """One way to count.

    used_by  who reports the number under this definition
    law      the definition in one line
    measure  rows -> the number, nan where nothing was verified
    """

    used_by: str
    law: str
    measure: Callable[[Sequence[Row]], float]


@dataclass(frozen=True)
class _Sums:
    """What the conventions divide; `drafting` counts the passes that had at least one draft to judge."""

    committed: int
    tokens: int
    kept: int
    passes: int
    drafting: int
    last_indices: int


def accept_length_conventions(rows: Sequence[Row]) -> dict[str, float]:
    """Every convention's accepted length of the same rows, by its name in CONVENTIONS."""
    return {name: convention.measure(rows) for name, convention in CONVENTIONS.items()}


def _sums(rows: Sequence[Row]) -> _Sums:
    return _Sums(
        committed=sum(row.decode_tokens for row in rows), tokens=sum(row.tokens for row in rows),
        kept=sum(sum(row.kept) for row in rows), passes=sum(row.passes for row in rows),
        drafting=sum(drafted > 0 for row in rows for drafted in row.drafted),
        last_indices=sum(row.passes - 1 for row in rows if row.passes))


def _of_sums(part: Callable[[_Sums], int], whole: Callable[[_Sums], int]) -> Callable[[Sequence[Row]], float]:
    def measure(rows: Sequence[Row]) -> float:
        sums = _sums(rows)
        return part(sums) / whole(sums) if whole(sums) else math.nan
    return measure


def _expected_drafts(rows: Sequence[Row]) -> float:
    """Σ_j Π_{i ≤ j} α_i: a slot counts when all before it were kept as well."""
    total, reached = 0.0, 1.0
    slots = accept_length(rows).conditional
    for share in slots:
        reached *= 0.0 if math.isnan(share) else share
        total += reached
    return total if slots else math.nan


def _vllm(rows: Sequence[Row]) -> float:
    return 1 + _of_sums(lambda sums: sums.kept, lambda sums: sums.drafting)(rows)


CONVENTIONS = {
    "committed_per_pass": Convention(
        "this project's A; Spec-Bench (mean accepted tokens)", "Σ committed, the first token excluded / Σ passes",
        _of_sums(lambda sums: sums.committed, lambda sums: sums.passes)),
    "kept_plus_one": Convention(
        "EAGLE (τ), DFlash, DeepSpec, GLANCE, Gagrani et al. (block efficiency)", "Σ (kept + 1) / Σ passes, uncut",
        _of_sums(lambda sums: sums.kept + sums.passes, lambda sums: sums.passes)),
    "one_plus_kept_per_draft": Convention(
        "vLLM (mean acceptance length)", "1 + Σ kept / passes that had a draft, uncut", _vllm),
    "kept_drafts": Convention(
        "ViSpec, SpecVLM of Zhejiang University", "Σ kept / Σ passes, uncut, no bonus token",
        _of_sums(lambda sums: sums.kept, lambda sums: sums.passes)),
    "tokens_per_pass": Convention(
        "FlashSD's SAR scripts, SGLang (completion tokens / spec_verify_ct), SpecVLM 2509.11815 (σ)",
        "Σ tokens, the first included / Σ passes",
        _of_sums(lambda sums: sums.tokens, lambda sums: sums.passes)),
    "tokens_per_last_index": Convention(
        "FlashSD's EE scripts, which log the index of the last step", "Σ tokens / Σ (passes - 1)",
        _of_sums(lambda sums: sums.tokens, lambda sums: sums.last_indices)),
    "kept_plus_one_per_last_index": Convention(
        "EAGLE's answer files (new_tokens / idxs)", "Σ (kept + 1) / Σ (passes - 1), uncut",
        _of_sums(lambda sums: sums.kept + sums.passes, lambda sums: sums.last_indices)),
    "expected_drafts": Convention(
        "SpecForge and TorchSpec (simulated_acc_len), SpecVLM 2509.11815 (approximation, there with one α)",
        "Σ_j Π_{i ≤ j} P(slot i kept | those before it kept), no bonus token", _expected_drafts),
}
