"""The target answers the questions of several samples itself; its features come with the answers.

A draft is judged on what the target says, so this is the text to train it on (DFlash, ViSpec and
MASSV all report so); the answers of a data set are somebody else's. It knows no draft.

    each sample alone   its visual prefix (specflash/prefix.py)  one pass; copied where a sample before it has the same
                        its first question                       one pass of few rows, no logits but the last
    all together        one token of every answer per pass       a pass costs little more than one row
    each sample alone   the next question, behind the answer     one pass of few rows
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from specflash.cache import causal_mask
from specflash.errors import UserError
from specflash.prefix import prefix_key
from specflash.records import Features, Output, Prompt, Sample, Turn, parted
from specflash.shared_cache import SharedCache, together_mask
from specflash.targets.base import Target

Choose = Callable[[Tensor], int]
"""The next token, given logits [V]."""


def answer_together(target: Target, samples: Sequence[Sample], max_new_tokens: int, max_length: int,
                    inner: int | None = None) -> list[Features | UserError]:
    """The features of each sample's questions with the target's own greedy answers, or why it has none (`converse`)."""
    talks = converse(target, samples, max_new_tokens, max_length, inner=inner)
    return [talk.features() if isinstance(talk, Talk) else talk for talk in talks]


@torch.inference_mode()
def converse(target: Target, samples: Sequence[Sample], max_new_tokens: int, max_length: int,
             choose: Sequence[Choose | None] | None = None, inner: int | None = None) -> "list[Talk | UserError]":
    """The target answers each sample's questions; answers these brought along are not read.

    max_new_tokens  limit of one answer; one that reaches it ends there, without an end token
    max_length      limit of a sample's tokens. A conversation ends early where it would be longer
    choose          per sample, how its tokens are chosen; None, there or for all: greedily
    inner           the layer whose hidden states are kept too; None: of no layer

    Returns per sample its conversation, or why it has none: a picture that is not one, or a first
    question that leaves no room for an answer.
    """
    ways = choose or [None] * len(samples)
    talks = [_begin(target, sample, max_length, way) for sample, way in zip(samples, ways, strict=True)]
    going = [talk for talk in talks if isinstance(talk, Talk)]
    if going:
        _Room(target, going, max_new_tokens, max_length, inner).run()
    return talks


@dataclass
class Talk:
    """One sample's conversation so far: what is in the cache, and what comes next.

    prompt    of the question that is being answered
    choose    how its tokens are chosen; None: greedily
    turns     exchanges that are over
    cut       per exchange that is over, whether its answer was ended by a limit
    ids, rows, spoken   per token in the cache: its id, its `Output.rows` in pieces, whether it
              belongs to an answer
    width     D of the target
    pending   the answer's next token, not in the cache yet; None between answers
    """

    sample: Sample
    prompt: Prompt
    width: int
    choose: Choose | None = None
    turns: list[Turn] = field(default_factory=list)
    cut: list[bool] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    rows: list[Tensor] = field(default_factory=list)
    spoken: list[bool] = field(default_factory=list)
    pending: int | None = None
    answer: list[int] = field(default_factory=list)

    @property
    def question(self) -> str:
        return self.sample.turns[len(self.turns)].question

    @property
    def over(self) -> bool:
        return len(self.turns) == len(self.sample.turns)

    def next(self, logits: Tensor, best: int) -> int:
        """The token to say after logits [V], whose largest is that of `best`."""
        return best if self.choose is None else self.choose(logits)

    def take(self, ids: list[int], rows: Tensor, spoken: list[bool]) -> None:
        """Tokens that went into the cache. rows [n, D] or [n, 2D]"""
        self.ids += ids
        self.rows.append(rows.to("cpu", torch.bfloat16))
        self.spoken += spoken

    def forget_from(self, length: int) -> None:
        """Keep the first `length` tokens."""
        if length < len(self.ids):
            self.rows = [torch.cat(self.rows)[:length]]
            del self.ids[length:], self.spoken[length:]

    def features(self) -> Features:
        features, inner = parted(torch.cat(self.rows), self.width)
        return Features(id=self.sample.id, ids=torch.tensor(self.ids), features=features, inner=inner,
                        spans=self.prompt.spans, answer_mask=torch.tensor(self.spoken))


def _begin(target: Target, sample: Sample, max_length: int, choose: Choose | None) -> Talk | UserError:
    try:
        prompt = target.encode(replace(sample, turns=(Turn(sample.turns[0].question),)))
    except UserError as error:
        return error
    if prompt.length >= max_length:
        return UserError(f"{prompt.length} tokens leave no room for an answer in dump.max_length={max_length}")
    return Talk(sample, prompt, target.width, choose)


class _Room:
    """Talks that share a cache. Slot i of the cache belongs to `going[i]`; who is done makes room."""

    def __init__(self, target: Target, talks: list[Talk], max_new_tokens: int, max_length: int, inner: int | None):
        self.target, self.max_new_tokens, self.inner = target, max_new_tokens, inner
        self.going = list(talks)
        self.length = min(max_length, max(_tokens_at_most(target, talk, max_new_tokens) for talk in talks))
        self.cache = SharedCache(target.layers, len(talks), self.length)
        self.mask = causal_mask(self.length, target.device)

    def run(self) -> None:
        slots: dict[str, int] = {}
        for slot, talk in enumerate(self.going):
            if talk.prompt.prefix:
                self._see(slot, slots.setdefault(prefix_key(talk.prompt), slot))
            self._ask(slot, talk)
        while self.going:
            self._speak()
            for slot in reversed(range(len(self.going))):
                self._after(slot)

    def _see(self, slot: int, first: int) -> None:
        """Put the talk's visual prefix into its slot, from slot `first` where that is another one."""
        talk, prompt, rows = self.going[slot], self.going[slot].prompt, self.going[slot].prompt.prefix
        if first == slot:
            embeds = self.target.embed_prompt(prompt)[:, :rows]                        # [1, P, D]
            seen = self._pass(slot, embeds, prompt, 0, keep=0).rows[0]
        else:
            self.cache.move(first, slot, held=rows)
            seen = self.going[first].rows[0]
        talk.take(prompt.ids[0, :rows].tolist(), seen, prompt.answer_mask[0, :rows].tolist())

    def _ask(self, slot: int, talk: Talk) -> None:
        """Put the prompt's tokens that the cache does not hold into it, and draw the answer's first token."""
        known, prompt = len(talk.ids), talk.prompt
        output = self._pass(slot, self.target.embed(prompt.ids[:, known:]), prompt, known, keep=1)
        talk.take(prompt.ids[0, known:].tolist(), output.rows[0], prompt.answer_mask[0, known:].tolist())
        talk.pending, talk.answer = talk.next(output.logits[0, -1], int(output.logits[0, -1].argmax())), []

    def _pass(self, slot: int, embeds: Tensor, prompt: Prompt, known: int, keep: int) -> Output:
        """One request's rows [1, R, D] behind the `known` ones that its slot holds."""
        rows = embeds.shape[1]
        # No mask behind nothing: plain causal attention is cheaper than a masked one.
        mask = self.mask[known:known + rows, :known + rows][None, None] if known else None
        return self.target.forward(embeds, self.cache.one(slot, known),
                                   self.target.positions(prompt, known, rows), mask, keep, self.inner)

    def _speak(self) -> None:
        """One token of every answer."""
        device = self.target.device
        ids = torch.tensor([[talk.pending] for talk in self.going], device=device)     # [n, 1]
        places = torch.tensor([len(talk.ids) for talk in self.going], device=device)   # [n]
        positions = torch.cat([self.target.positions(talk.prompt, len(talk.ids), 1) for talk in self.going], -2)
        output: Output = self.target.forward(self.target.embed(ids), self.cache.together(places),
                                             positions, together_mask(places), 1, self.inner)
        best = output.logits[:, -1].argmax(-1).tolist()                                # [n]
        for number, talk in enumerate(self.going):
            said = talk.pending
            talk.take([said], output.rows[number], [True])
            talk.answer.append(said)
            over = said in self.target.end_ids or self._full(talk)
            talk.pending = None if over else talk.next(output.logits[number, -1], best[number])

    def _full(self, talk: Talk) -> bool:
        return len(talk.answer) == self.max_new_tokens or len(talk.ids) == self.length

    def _after(self, slot: int) -> None:
        """Where slot's answer has ended: the next question, or the slot is given up."""
        talk = self.going[slot]
        if talk.pending is not None:
            return
        talk.turns.append(Turn(talk.question, self.target.decode(talk.answer).strip()))
        talk.cut.append(talk.answer[-1] not in self.target.end_ids)
        if not talk.over and self._next(talk):
            self._ask(slot, talk)
            return
        last = self.going.pop()
        if last is not talk:
            self.cache.move(len(self.going), slot, held=len(last.ids))
            self.going[slot] = last

    def _next(self, talk: Talk) -> bool:
        """Set the next question behind the conversation; False where it would leave no room for an answer."""
        prompt = self.target.encode(replace(talk.sample, turns=(*talk.turns, Turn(talk.question))))
        if prompt.length >= self.length:
            return False
        talk.prompt = prompt
        # The text of an answer may come back as other tokens; then these count.
        talk.forget_from(_common(talk.ids, prompt.ids[0].tolist()))
        return True


def _tokens_at_most(target: Target, talk: Talk, max_new_tokens: int) -> int:
    """Room that a whole conversation needs, its later questions with all that the template puts around them."""
    *first, last = talk.sample.turns
    asked = (*(Turn(turn.question, "") for turn in first), Turn(last.question))
    # Without further questions the prompt is there already; encoding another takes the pictures apart again.
    whole = target.encode(replace(talk.sample, turns=asked)) if first else talk.prompt
    return whole.length + len(asked) * (max_new_tokens + 1)


def _common(held: list[int], wanted: list[int]) -> int:
    """How many tokens both begin with; one fewer than `wanted`, so that a pass has a row."""
    same = next((place for place, (mine, other) in enumerate(zip(held, wanted, strict=False)) if mine != other),
                min(len(held), len(wanted)))
    return min(same, len(wanted) - 1)
