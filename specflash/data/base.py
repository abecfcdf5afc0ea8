"""What the stages need of a data set. It knows no file format and no model."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from specflash.data.media import BadClip, read_media
from specflash.presets import QUESTION
from specflash.records import Clip, Medium, Sample, Turn, sample_id

Entry = tuple[tuple[Medium, ...], tuple[Turn, ...]]
"""(media, turns) of one sample, before its media are read."""


class Dataset(ABC):
    """A sequence of samples, made when they are asked for.

    Opening reads the index only. A missing picture or video raises BadMedia for its own sample
    and for no other. Ids come from the content, so order and limits never change them.

    task     label its samples carry
    split    which part of the data set it is
    missing  what the index lists and the folder lacks, where the format expects that (clips whose links are
             dead); these are no samples
    """

    task: str
    split: str
    missing: tuple[str, ...] = ()

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def entry(self, index: int) -> Entry:
        """Media and turns of sample `index`, 0 ≤ index < len. Reads no media."""

    def where(self, index: int) -> str:
        """Where sample `index` stands, for messages: a file and a line or entry where the format has them."""
        return f"sample {index}"

    def __getitem__(self, index: int) -> Sample:
        if not 0 <= index < len(self):
            raise IndexError(f"sample {index} of {len(self)}")
        return make_sample(*self.entry(index), self.task_of(index))

    def task_of(self, index: int) -> str:
        """The label of sample `index`."""
        return self.task


class View(Dataset):
    """The samples of another data set, seen in another way."""

    def __init__(self, whole: Dataset):
        self.whole = whole
        self.task, self.split, self.missing = whole.task, whole.split, whole.missing

    def __len__(self) -> int:
        return len(self.whole)

    def entry(self, index: int) -> Entry:
        return self.whole.entry(index)

    def where(self, index: int) -> str:
        return self.whole.where(index)

    def task_of(self, index: int) -> str:
        return self.whole.task_of(index)


class First(View):
    """The first `limit` samples of another data set."""

    def __init__(self, whole: Dataset, limit: int):
        super().__init__(whole)
        self.limit = limit

    def __len__(self) -> int:
        return min(self.limit, len(self.whole))


class Chained(Dataset):
    """Several data sets, one behind the other; each sample keeps the label of its own."""

    def __init__(self, parts: Sequence[Dataset]):
        self.parts = tuple(parts)
        self.task = " + ".join(dict.fromkeys(part.task for part in parts))
        self.split = " + ".join(dict.fromkeys(part.split for part in parts))
        self.missing = tuple(name for part in parts for name in part.missing)
        self.ends = tuple(accumulate(len(part) for part in parts))

    def __len__(self) -> int:
        return self.ends[-1]

    def entry(self, index: int) -> Entry:
        part, own = self._find(index)
        return part.entry(own)

    def where(self, index: int) -> str:
        part, own = self._find(index)
        return part.where(own)

    def task_of(self, index: int) -> str:
        part, own = self._find(index)
        return part.task_of(own)

    def _find(self, index: int) -> tuple[Dataset, int]:
        """Whose sample `index` is, and its number there."""
        number = bisect_right(self.ends, index)
        return self.parts[number], index - (self.ends[number - 1] if number else 0)


class Questions(View):
    """The samples of another data set without their answers: two that ask the same are one sample."""

    def entry(self, index: int) -> Entry:
        media, turns = self.whole.entry(index)
        return media, tuple(Turn(turn.question) for turn in turns)


SHORT_ANSWER = ("Answer the question using a single word or phrase.",
                "Answer with the option's letter from the given choices directly.")
"""What LLaVA's evaluation files end their questions with; a prompt that quotes a question leaves it out."""


class Prompted(View):
    """The first question of each sample put into `prompt`, or replaced by it where the prompt has no place for one.

    An answer to another question is none, so it is left to the target.
    """

    def __init__(self, whole: Dataset, prompt: str):
        super().__init__(whole)
        self.prompt = prompt

    def entry(self, index: int) -> Entry:
        media, turns = self.whole.entry(index)
        asked = turns[0].question.strip()
        for ending in SHORT_ANSWER:
            asked = asked.removesuffix(ending).rstrip()
        question = self.prompt.replace(QUESTION, asked)
        return media, (turns[0] if question == turns[0].question else Turn(question),)


class Shown(View):
    """Another data set with `frames` frames of each clip instead of its own number."""

    def __init__(self, whole: Dataset, frames: int):
        super().__init__(whole)
        self.frames = frames

    def entry(self, index: int) -> Entry:
        media, turns = self.whole.entry(index)
        return tuple(replace(one, frames=self.frames) if isinstance(one, Clip) else one for one in media), turns


def make_sample(media: tuple[Medium, ...], turns: tuple[Turn, ...], task: str) -> Sample:
    """A sample with its content id. Raises BadMedia where a picture or video cannot be read."""
    for medium in media:
        source, *kind = (medium.source, BadClip, "video") if isinstance(medium, Clip) else (medium,)
        if not isinstance(source, bytes) and not source.is_file():
            read_media(source, *kind)  # says which file is missing, and why
    return Sample(sample_id(media, turns), media, turns, task)


def as_request(sample: Sample) -> Sample:
    """The sample as a request: its media and first question, and no answer.

    Benchmark and verification ask this and let the target speak. It has an id of its own, since
    its content is another.
    """
    return make_sample(sample.media, (Turn(sample.turns[0].question),), sample.task)
