"""The settings that are about data: which set, what `prepare` draws and checks. They only describe."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from flashbench.section import Section
from flashbench.values import AtHome, Seed
from specflash.catalogue import nearest
from specflash.presets import PRESETS, Preset


class SourceSettings(Section):
    """One data set: a catalogue name, the folder it lies in, and which part of it to take.

    prompt  asked instead of the data set's first question; `{question}` in it stands for that question
    frames  shown of each clip
    also    further data sets, whose samples come after this one's, so that one draft learns from several
    """

    dataset: str
    path: Annotated[Path | None, AtHome] = None
    split: str = "train"
    limit: int | None = Field(None, ge=1)
    prompt: str | None = Field(None, min_length=1)
    frames: int | None = Field(None, ge=1)
    also: tuple["SourceSettings", ...] = ()

    @property
    def name(self) -> str:
        return " + ".join(f"{one.dataset}:{one.split}" for one in self.parts())

    def parts(self) -> tuple["SourceSettings", ...]:
        """Each of its data sets as a source of its own."""
        return self.model_copy(update={"also": ()}), *(part for other in self.also for part in other.parts())

    def placed(self) -> "SourceSettings":
        """With absolute paths: workers may run in another folder."""
        return self.model_copy(update={"path": self.path and self.path.absolute(),
                                       "also": tuple(other.placed() for other in self.also)})


class ScenesSettings(Section):
    """How many drawn scenes and drawn clips `prepare` writes, and the seed they follow from."""

    train: int = Field(240, ge=1)
    test: int = Field(60, ge=1)
    train_clips: int = Field(0, ge=0)
    test_clips: int = Field(0, ge=0)
    seed: Seed = 0


class CheckSettings(Section):
    """What `prepare` looks at before anything expensive runs.

    media    so many pictures and clips of each data set are decoded; of more, a sample drawn with `seed`
    workers  processes that decode
    prompts  so many samples of each data set are encoded by the target, which is loaded for that, to find those
             longer than dump.max_length; 0: none
    """

    media: int = Field(2000, ge=1)
    workers: int = Field(2, ge=1)
    prompts: int = Field(0, ge=0)
    seed: Seed = 0


def with_preset(tree: Any, part: Callable[[Preset], dict[str, Any]]) -> Any:
    """`tree` with what its preset says where it says nothing itself. Raises ValueError for an unknown preset."""
    if not isinstance(tree, dict) or not isinstance(tree.get("preset"), str):
        return tree
    if tree["preset"] not in PRESETS:
        raise ValueError(f"no preset is called `{tree['preset']}`{nearest(tree['preset'], PRESETS)}; known: "
                         f"{', '.join(PRESETS)}")
    given, source = part(PRESETS[tree["preset"]]), tree.get("source", {})
    return given | tree | ({"source": given["source"] | source} if isinstance(source, dict) else {})
