"""The records that cross the boundaries between stages, one per arrow.

    Sample --Target.encode--> Prompt --Target.forward--> Output --dump--> Features
    Features --collate--> Batch --Draft.loss--> loss
    Prompt --decoding.generate--> Generation

They hold data and know no model.
"""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import inf
from pathlib import Path

import torch
from torch import Tensor

from specflash.errors import UserError
from specflash.trees import depths

Picture = Path | bytes
"""An encoded picture (JPEG, PNG, …): where it lies, or the bytes themselves."""


@dataclass(frozen=True)
class Clip:
    """An encoded video, and which of its frames are shown.

    source      where it lies, or the bytes themselves
    frames      how many are shown, evenly spaced over the part below; of fewer, all
    start, end  the part's seconds; None: from the video's beginning, to its end
    """

    source: Picture
    frames: int
    start: float | None = None
    end: float | None = None

    def __post_init__(self) -> None:
        start, end = self.start or 0.0, inf if self.end is None else self.end
        if self.frames < 1 or not 0 <= start < end:
            raise UserError(f"a clip of {self.frames} frames from second {self.start} to {self.end} shows nothing: "
                            "ask for one frame at least, and for an end after the start")


Medium = Picture | Clip


@dataclass(frozen=True)
class Turn:
    """One exchange. `answer` is None where the model is to give it (the last turn of a request)."""

    question: str
    answer: str | None = None


@dataclass(frozen=True)
class Sample:
    """One conversation about some pictures and clips.

    id     content hash of the media bytes and the turns (see `sample_id`): order, shard and
           worker count never change it
    media  pictures and clips in the order they are shown; they stand before the first question
    task   which task preset it belongs to, for example "instruct" or "caption"
    """

    id: str
    media: tuple[Medium, ...]
    turns: tuple[Turn, ...]
    task: str


def picture_bytes(picture: Picture) -> bytes:
    return picture if isinstance(picture, bytes) else picture.read_bytes()


def medium_bytes(medium: Medium) -> bytes:
    """The encoded picture or video."""
    return picture_bytes(medium.source if isinstance(medium, Clip) else medium)


def in_memory(medium: Medium) -> Medium:
    """The same medium with its bytes in place of a path."""
    return replace(medium, source=medium_bytes(medium)) if isinstance(medium, Clip) else picture_bytes(medium)


def sample_id(media: tuple[Medium, ...], turns: tuple[Turn, ...]) -> str:
    """32 hex digits that depend on the media bytes, the choice of a clip's frames and the text only.

    Raises UserError where the text holds half a character, which no encoding has.
    """
    digest = sha256()
    for medium in media:
        digest.update(sha256(medium_bytes(medium)).digest())
        if isinstance(medium, Clip):
            digest.update(f"\0f{medium.frames} {medium.start} {medium.end}".encode())
    try:
        for turn in turns:
            digest.update(b"\x00q" + turn.question.encode())
            digest.update(b"\x00a" + (turn.answer or "").encode())
    except UnicodeEncodeError as error:
        raise UserError(f"the text holds half a character ({error.object[error.start]!r}); correct it") from None
    return digest.hexdigest()[:32]


Span = tuple[int, int]
"""(start, length) of the visual tokens of one picture, frame or temporal slice among the token ids."""


def prefix_of(spans: tuple[Span, ...]) -> int:
    """Length of the visual prefix: all tokens up to the end of the last picture; 0 without one."""
    return max((start + length for start, length in spans), default=0)


@dataclass(frozen=True)
class Prompt:
    """A sample in the target's own terms, made by `Target.encode`.

    ids          [1, L] int64  token ids, each visual token one placeholder id
    pixels       what the vision tower takes, by the name the target knows it under
    spans        one (start, length) per picture, and per frame or temporal slice of a clip, in order
    answer_mask  [1, L] bool   True at tokens of an answer, its end-of-turn token included
    positions    [3, 1, L]     temporal, vertical and horizontal, where the target has such; else None
    """

    ids: Tensor
    pixels: dict[str, Tensor]
    spans: tuple[Span, ...]
    answer_mask: Tensor
    positions: Tensor | None = None

    @property
    def length(self) -> int:
        return self.ids.shape[1]

    @property
    def prefix(self) -> int:
        return prefix_of(self.spans)


@dataclass(frozen=True)
class Output:
    """What one forward pass of the target gives.

    features  [B, R, D]  input of the LM head (after the final norm), one row per position
    logits    [B, M, V]  `head` of the last M ≤ R rows, M as asked for
    inner     [B, R, D]  hidden states after an inner decoder layer, where one was asked for; else None
    """

    features: Tensor
    logits: Tensor
    inner: Tensor | None = None

    @property
    def rows(self) -> Tensor:
        """All that is known of each position: features [B, R, D], or with `inner` behind them [B, R, 2D]."""
        return self.features if self.inner is None else torch.cat([self.features, self.inner], -1)


def parted(rows: Tensor, width: int) -> tuple[Tensor, Tensor | None]:
    """`Output.rows` [..., D] or [..., 2D] -> features [..., D], and inner states [..., D] or None."""
    return (rows, None) if rows.shape[-1] == width else rows.split(width, -1)


@dataclass(frozen=True)
class Features:
    """What the dump stores of one sample, and the trainer reads.

    ids          [L] int64     token ids
    features     [L, D] bf16   LM-head inputs of the frozen target, one row per token
    spans        (start, length) of each picture
    answer_mask  [L] bool
    inner        [L, D] bf16   hidden states after an inner layer, where the dump was asked for them; else None
    """

    id: str
    ids: Tensor
    features: Tensor
    spans: tuple[Span, ...]
    answer_mask: Tensor
    inner: Tensor | None = None

    @property
    def prefix(self) -> int:
        return prefix_of(self.spans)


@dataclass(frozen=True)
class Batch:
    """Samples of similar length, padded on the right. Made by `specflash.drafts.collate`.

    ids          [B, L] int64   0 at padding
    features     [B, L, D]      0 at padding
    answer_mask  [B, L] bool    False at padding
    lengths      [B] int64      tokens of each sample
    spans        per sample, its (start, length) list
    noisy        [B, L, D]      features with noise, fed to the draft in training (`add_noise`);
                                None: it is fed the features themselves
    inner        [B, L, D]      hidden states after an inner layer of the target, 0 at padding; None where
                                nobody asked for them

    Alignment, for one sample of six tokens whose last three are the answer:

        position t          0    1    2    3    4    5
        ids x_t             x0   x1   x2   x3   x4   x5
        features h_t        h0   h1   h2   h3   h4   h5
        answer_mask         .    .    .    a    a    a

        base t   pairs (h_t, e(x_{t+1}))                          t = 0 … L-2
        slot i   at base t regresses to h_{t+1+i}, the feature that
                 predicts token x_{t+2+i}; it is trained where the tokens
                 x_{t+1} … x_{t+2+i} all belong to one answer

        base 2 = (h2, e(x3)):  slot 0 -> h3 (token x4),  slot 1 -> h4 (token x5)
        base 3 = (h3, e(x4)):  slot 0 -> h4 (token x5)
    """

    ids: Tensor
    features: Tensor
    answer_mask: Tensor
    lengths: Tensor
    spans: tuple[tuple[Span, ...], ...]
    noisy: Tensor | None = None
    inner: Tensor | None = None

    @property
    def inputs(self) -> Tensor:
        """What the draft is fed; `features` is what it regresses to."""
        return self.features if self.noisy is None else self.noisy

    def to(self, device: torch.device | str) -> "Batch":
        there = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **{name: value.to(device) for name, value in there.items()})


@dataclass(frozen=True)
class Proposal:
    """Drafted tokens and the law they were drawn from: a chain, or a tree of them.

    tokens   [M] int64    M may be 0 (vanilla)
    q        [M, V] float32, the law token j was drawn from given the tokens before it;
             None where every token was chosen deterministically (its law is one-hot)
    parents  the drafted token that each of the M follows, which comes before it, or -1 for the pending
             one (specflash/trees.py); None: each follows the one before. No token has two equal
             children; q of a child is the law it was drawn from given its older siblings too.
    """

    tokens: Tensor
    q: Tensor | None = None
    parents: tuple[int, ...] | None = None

    @property
    def depth(self) -> int:
        """The most tokens that can be kept."""
        return len(self.tokens) if self.parents is None else max(depths(self.parents))


PHASES = ("vision", "prefill", "draft_prefill", "draft", "verify", "other")


@dataclass
class Generation:
    """One decoded answer with the account of how it came about.

    ids        committed answer tokens, the first one sampled from the prefill, the end token
               included when it was reached
    kept       per verification pass: drafted tokens accepted (before any cut)
    drafted    per verification pass: tokens drafted one after the other; of a tree, those of its longest path
    committed  per verification pass: tokens committed after cuts at the end token or the limit;
               1 + sum(committed) == len(ids)
    seconds    per phase of PHASES
    finish     "stop" (end token) or "length"
    """

    ids: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    drafted: list[int] = field(default_factory=list)
    committed: list[int] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    finish: str = "length"
