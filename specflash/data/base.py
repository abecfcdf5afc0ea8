"""What the stages need of a data set. It knows no file format and no model."""

from abc import ABC, abstractmethod

from specflash.data.media import BadClip, read_media
from specflash.records import Clip, Medium, Sample, Turn, sample_id

Entry = tuple[tuple[Medium, ...], tuple[Turn, ...]]
"""(media, turns) of one sample, before its media are read."""


class Dataset(ABC):
    """A sequence of samples, made when they are asked for.

    Opening reads the index only. A missing picture or video raises BadMedia for its own sample
    and for no other. Ids come from the content, so order and limits never change them.

    task   label its samples carry
    split  which part of the data set it is
    """

    task: str
    split: str

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def entry(self, index: int) -> Entry:
        """Media and turns of sample `index`, 0 ≤ index < len. Reads no media."""

    def __getitem__(self, index: int) -> Sample:
        if not 0 <= index < len(self):
            raise IndexError(f"sample {index} of {len(self)}")
        return make_sample(*self.entry(index), self.task)


class First(Dataset):
    """The first `limit` samples of another data set."""

    def __init__(self, whole: Dataset, limit: int):
        self.whole, self.limit = whole, limit
        self.task, self.split = whole.task, whole.split

    def __len__(self) -> int:
        return min(self.limit, len(self.whole))

    def entry(self, index: int) -> Entry:
        return self.whole.entry(index)


class Questions(Dataset):
    """The samples of another data set without their answers: two that ask the same are one sample."""

    def __init__(self, answered: Dataset):
        self.answered = answered
        self.task, self.split = answered.task, answered.split

    def __len__(self) -> int:
        return len(self.answered)

    def entry(self, index: int) -> Entry:
        media, turns = self.answered.entry(index)
        return media, tuple(Turn(turn.question) for turn in turns)


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
