"""The finished draft whose weights a training starts from, where the settings name one. It knows no training."""

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from flashbench.draft_settings import section_for
from flashbench.fingerprint import draft_fingerprint
from flashbench.settings import Settings
from specflash.drafts.base import Draft
from specflash.drafts.store import check_draft, check_settings, check_target, fill, load_tensors


@dataclass(frozen=True)
class Start:
    """A draft of the same target with the same settings.

    fingerprint  of its configuration and weights
    """

    folder: Path
    fingerprint: str

    @property
    def tensors(self) -> dict[str, Tensor]:
        return load_tensors(self.folder)[1]

    @property
    def vocabulary_ids(self) -> list[int] | None:
        """The tokens it may propose, which the draft that starts from it keeps."""
        ids = self.tensors.get("vocabulary_ids")
        return None if ids is None else ids.tolist()

    def put_into(self, draft: Draft) -> None:
        """Raises UserError where the tensors are not those of such a draft."""
        fill(draft, self.tensors, self.folder)


def start_of(settings: Settings, name: str, target_fingerprint: str, inner: int | None = None) -> Start | None:
    """Where training `name` starts; None: from scratch.

    inner  the layer whose hidden states come with the features; None: they come alone

    Raises UserError where `train.start` holds no whole draft of this name, or one of another target
    or with other settings.
    """
    if settings.train.start is None:
        return None
    folder = settings.train.start / name
    config, _ = check_draft(folder)
    check_target(folder, config, target_fingerprint, settings.target.name)
    check_settings(folder, section_for(settings, name, inner))
    return Start(folder, draft_fingerprint(folder))
