"""Entries that MLflow did not take, each in a file of the run folder until the next call sends them."""

from dataclasses import replace
from pathlib import Path

from flashbench.track.entry import Attachment, Entry, content_digest
from specflash.files import write_whole

FOLDER = "mlflow-pending"


class Outbox:
    """Files are replaced whole, so two processes cannot spoil them. Raises OSError and DiskFull on writing."""

    def __init__(self, run: Path):
        self.folder = run / FOLDER

    def waiting(self) -> list[Entry]:
        """The oldest first. A file that is no entry (written by another version) stays where it is."""
        found = [_read(path) for path in self.folder.glob("*.json")]
        return sorted((_as_it_is_now(entry) for entry in found if entry is not None), key=lambda entry: entry.at)

    def keep(self, entry: Entry) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._place(entry), entry.to_json())

    def forget(self, entry: Entry) -> None:
        self._place(entry).unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _place(self, entry: Entry) -> Path:
        return self.folder / f"{entry.key}.json"


def _read(path: Path) -> Entry | None:
    try:
        return Entry.from_json(path.read_bytes())
    except (ValueError, KeyError, TypeError):
        return None


def _as_it_is_now(entry: Entry) -> Entry:
    """Without the files that have changed meanwhile, which belong to another result: the run says which."""
    lost = [one for one in entry.attachments if not _unchanged(one)]
    if not lost:
        return entry
    names = ", ".join(Path(one.path).name for one in lost)
    return replace(entry, attachments=[one for one in entry.attachments if one not in lost],
                   tags={**entry.tags, "artifacts_lost": names})


def _unchanged(attachment: Attachment) -> bool:
    path = Path(attachment.path)
    return path.exists() and content_digest(path) == attachment.digest
