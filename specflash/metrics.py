"""Accept length and speed-up, every convention of the field under its own name.

It reads finished records only and needs no torch, so reports and dashboards can use it.

A pass is one verification forward of the target; the prefill is none. Tokens are counted from ids,
cut at the end token and at the limit. Sums are kept to the last moment, ratios taken once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from specflash.errors import UserError
from specflash.intervals import Interval, interval_of


@dataclass(frozen=True)
class Window:
    """Which part of an answer a speed-up is about: its phases, and whether its first token counts."""

    phases: tuple[str, ...]
    first_token: bool


DECODE = Window(("draft", "verify", "other"), first_token=False)
"""R_decode: after the first token, which comes from the prefill."""
E2E = Window(("vision", "prefill", "draft_prefill", *DECODE.phases), first_token=True)
"""R_e2e: everything but reading and preprocessing the media."""


class Account(Protocol):
    """What is read of a `Generation`, or of a stored row that mirrors it."""

    @property
    def kept(self) -> Sequence[int]: ...
    @property
    def drafted(self) -> Sequence[int]: ...
    @property
    def committed(self) -> Sequence[int]: ...
    @property
    def seconds(self) -> Mapping[str, float]: ...


@dataclass(frozen=True)
class Row:
    """One decoded answer: of which prompt, and the account of it (fields as in `Generation`)."""

    prompt: str
    kept: Sequence[int]
    drafted: Sequence[int]
    committed: Sequence[int]
    seconds: Mapping[str, float]

    @classmethod
    def of(cls, prompt: str, account: Account) -> "Row":
        return cls(prompt, account.kept, account.drafted, account.committed, account.seconds)

    @property
    def passes(self) -> int:
        return len(self.committed)

    @property
    def decode_tokens(self) -> int:
        """Tokens after the first one, which comes from the prefill."""
        return sum(self.committed)

    @property
    def tokens(self) -> int:
        return 1 + self.decode_tokens

    def within(self, window: Window) -> tuple[float, int]:
        """Seconds and tokens of the window."""
        seconds = sum(self.seconds[phase] for phase in window.phases)
        return seconds, self.tokens if window.first_token else self.decode_tokens


@dataclass(frozen=True)
class AcceptLength:
    """Accepted length in every convention (nan where nothing was verified).

    pooled           headline A: Σ committed tokens, the first excluded / Σ passes.
                     Includes the correction or bonus token, so vanilla has 1.
    accepted         A - 1: drafts alone
    mean_per_sample  mean over answers of each answer's own A
    joint            per slot j: share of the passes that drafted it where slots 0 … j were all kept
    conditional      per slot j: the same, among passes where slots 0 … j-1 were kept
    flashsd_steps    FlashSD: Σ tokens / Σ steps, the first token included
    flashsd_idx      FlashSD's EE scripts, which log the last index: Σ tokens / Σ (steps - 1)
    """

    pooled: float
    accepted: float
    mean_per_sample: float
    joint: tuple[float, ...]
    conditional: tuple[float, ...]
    flashsd_steps: float
    flashsd_idx: float


@dataclass(frozen=True)
class Speedup:
    """How much faster than the baseline, in every convention. R is a ratio of seconds per token.

    pooled           headline R: (Σ time / Σ tokens) of the baseline / the same of the method
    mean_of_ratios   mean over prompts of the prompt's own R (SpecFLASH's README)
    ratio_of_means   mean tokens per second / the same of the baseline (FlashSD, EAGLE, Spec-Bench)
    geometric_mean   over prompts, of the prompt's own R
    """

    pooled: float
    mean_of_ratios: float
    ratio_of_means: float
    geometric_mean: float


def accept_length(rows: Sequence[Row]) -> AcceptLength:
    passes = sum(row.passes for row in rows)
    decode_tokens = sum(row.decode_tokens for row in rows)
    tokens = sum(row.tokens for row in rows)
    pooled = _ratio(decode_tokens, passes)
    kept = [kept for row in rows for kept in row.kept]
    drafted = [drafted for row in rows for drafted in row.drafted]
    joint, conditional = _slot_acceptance(np.array(kept, int), np.array(drafted, int))
    return AcceptLength(
        pooled=pooled,
        accepted=pooled - 1,
        mean_per_sample=_mean([row.decode_tokens / row.passes for row in rows if row.passes]),
        joint=joint,
        conditional=conditional,
        flashsd_steps=_ratio(tokens, passes),
        flashsd_idx=_ratio(tokens, sum(row.passes - 1 for row in rows if row.passes)),
    )


def speedup(rows: Sequence[Row], baseline: Sequence[Row], window: Window) -> Speedup:
    """R of `rows` over `baseline`, which ran the same prompts (UserError otherwise)."""
    ours, theirs = _paired(rows, baseline, window)                              # [prompts, 2] each
    our_rate, their_rate = ours[:, 1] / ours[:, 0], theirs[:, 1] / theirs[:, 0]
    ratios = (our_rate / their_rate).tolist()
    return Speedup(
        pooled=float(_pooled(np.hstack([ours, theirs]).sum(0))) if ratios else math.nan,
        mean_of_ratios=_mean(ratios),
        ratio_of_means=_ratio(_mean(our_rate.tolist()), _mean(their_rate.tolist())),
        geometric_mean=geometric_mean(ratios),
    )


def speedup_interval(rows: Sequence[Row], baseline: Sequence[Row], window: Window) -> Interval:
    """95 % interval of the pooled R, over prompts with both methods' rows kept together."""
    return interval_of(np.hstack(_paired(rows, baseline, window)), _pooled)


def accept_length_interval(rows: Sequence[Row]) -> Interval:
    """95 % interval of the pooled A over prompts."""
    sums = _sum_by_prompt(rows, lambda row: (row.decode_tokens, row.passes))
    return interval_of(np.array(list(sums.values())), lambda total: total[..., 0] / total[..., 1])


def position_intervals(rows: Sequence[Row]) -> tuple[Interval, ...]:
    """95 % interval over prompts of each of `AcceptLength.joint`."""
    most = max((drafted for row in rows for drafted in row.drafted), default=0)
    return tuple(_position_interval(rows, slot) for slot in range(most))


def geometric_mean(values: Sequence[float]) -> float:
    """For example of R across data sets."""
    return math.exp(_mean([math.log(value) for value in values]))


def _position_interval(rows: Sequence[Row], slot: int) -> Interval:
    sums = _sum_by_prompt(rows, lambda row: (sum(kept > slot for kept in row.kept),
                                             sum(drafted > slot for drafted in row.drafted)))
    return interval_of(np.array(list(sums.values())), lambda total: total[..., 0] / total[..., 1])


def _slot_acceptance(kept: np.ndarray, drafted: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """kept, drafted [passes] -> per slot the joint and the conditional share."""
    joint, conditional = [], []
    for slot in range(drafted.max(initial=0)):
        tried = drafted > slot
        good = int((kept[tried] > slot).sum())
        joint.append(_ratio(good, int(tried.sum())))
        conditional.append(_ratio(good, int((kept[tried] >= slot).sum())))
    return tuple(joint), tuple(conditional)


def _paired(rows: Sequence[Row], baseline: Sequence[Row], window: Window) -> tuple[np.ndarray, np.ndarray]:
    """[prompts, 2] seconds and tokens, of the method and of the baseline, in the same order.

    Repeats of a prompt are added up. A prompt without a token in the window (its answer ended with
    the first one) has no rate and is left out; it took no time in the window either.
    """
    ours, theirs = (_sum_by_prompt(some, lambda row: row.within(window)) for some in (rows, baseline))
    if ours.keys() != theirs.keys():
        raise UserError("the two methods did not run on the same prompts; run them together")
    prompts = [prompt for prompt in ours if ours[prompt][1] and theirs[prompt][1]]
    return tuple(np.array([sums[prompt] for prompt in prompts]).reshape(-1, 2)
                 for sums in (ours, theirs))


def _sum_by_prompt(rows: Sequence[Row], values: Callable[[Row], tuple[float, float]]) -> dict[str, np.ndarray]:
    sums: dict[str, np.ndarray] = {}
    for row in rows:
        sums[row.prompt] = sums.get(row.prompt, np.zeros(2)) + values(row)
    return sums


def _pooled(total: np.ndarray) -> np.ndarray:
    """Sums [..., 4] (our seconds, our tokens, their seconds, their tokens) -> R [...]"""
    return (total[..., 2] / total[..., 3]) / (total[..., 0] / total[..., 1])


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
