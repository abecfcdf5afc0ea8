"""A conversation as the text of a chat template, and where the answers lie in it. It knows no model."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from specflash.records import Span, Turn


class Shown(NamedTuple):
    """What stands for one picture or clip in the text.

    kind   "image" or "video": its part of a message, as chat templates know it
    token  its placeholder
    sizes  visual tokens of each of its spans: a picture has one, a video one per temporal slice
    """

    kind: str
    token: str
    sizes: tuple[int, ...]


class Wording:
    """The chat template of a target and its tokenizer.

    template  messages, whether the model is to speak next -> text
    end_ids   token ids that end an answer
    """

    def __init__(self, tokenizer, template: Callable[[list[dict], bool], str], end_ids: frozenset[int]):
        self.tokenizer, self.template, self.end_ids = tokenizer, template, end_ids
        self.control_tokens = re.compile("|".join(map(re.escape, tokenizer.get_added_vocab())) or "(?!)")

    def write(self, turns: Sequence[Turn], shown: Sequence[Shown]) -> tuple[Tensor, Tensor]:
        """Token ids [1, L], and the answer mask [1, L]: True up to and including an answer's end token."""
        text, answers = self.render(turns, shown)
        encoded = self.tokenizer(text, return_offsets_mapping=True, add_special_tokens=self._adds_bos(text))
        ids = torch.tensor([encoded["input_ids"]])
        return ids, self._answer_mask(ids, encoded["offset_mapping"], answers)

    def render(self, turns: Sequence[Turn], shown: Sequence[Shown]) -> tuple[str, list[Span]]:
        """The conversation as text, and the (start, end) characters of each answer in it.

        The chat template itself tells where an answer starts and ends: it is rendered up to the
        answer, and again with it.
        """
        messages: list[dict] = []
        answers: list[Span] = []
        for number, turn in enumerate(turns):
            media = [{"type": each.kind} for each in shown] if number == 0 else []
            messages.append({"role": "user", "content": [*media, self.plain(turn.question)]})
            if turn.answer is None:
                continue
            start = len(self._filled(messages, shown, ask=True))
            messages.append({"role": "assistant", "content": [self.plain(turn.answer)]})
            answers.append((start, len(self._filled(messages, shown, ask=False))))
        return self._filled(messages, shown, ask=messages[-1]["role"] == "user"), answers

    def plain(self, text: str) -> dict[str, str]:
        """User text as a content part; what a user types must neither be a picture nor end a turn.

        A space takes a control token's place: what stood around it cannot join to another one, so
        one pass is enough.
        """
        return {"type": "text", "text": self.control_tokens.sub(" ", text)}

    def _filled(self, messages: list[dict], shown: Sequence[Shown], ask: bool) -> str:
        text = self.template(messages, ask)
        if not shown:
            return text
        before, *rest = re.split("|".join({re.escape(each.token) for each in shown}), text)
        runs = (each.token * sum(each.sizes) for each in shown)
        return before + "".join(run + part for run, part in zip(runs, rest, strict=True))

    def _adds_bos(self, text: str) -> bool:
        return not (self.tokenizer.bos_token and text.startswith(self.tokenizer.bos_token))

    def _answer_mask(self, ids: Tensor, offsets: list[Span], answers: list[Span]) -> Tensor:
        mask = torch.zeros_like(ids, dtype=torch.bool)
        for start, end in answers:
            for position, (first, last) in enumerate(offsets):
                if start <= first < end and last > first:
                    mask[0, position] = True
                    if int(ids[0, position]) in self.end_ids:
                        break
        return mask


def find_spans(visual: Tensor, shown: Sequence[Shown]) -> tuple[Span, ...]:
    """(start, length) of every span, from which of the tokens [L] are placeholders."""
    places, spans = visual.nonzero().flatten().tolist(), []
    for size in (size for each in shown for size in each.sizes):
        spans.append((places[0], size))
        places = places[size:]
    return tuple(spans)
