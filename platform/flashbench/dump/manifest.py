"""What a feature store was made with. It knows no shard and no sample."""

import json
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Self

from specflash.errors import UserError
from specflash.files import write_whole

FORMAT = 3
FILE = "manifest.json"
FEATURES = ("LM-head input, after the final norm, of the frozen target; bfloat16, one row per token; "
            "a visual prefix that samples share is stored once")
RECORDED_ONLY = ("versions", "features")


def library_versions() -> dict[str, str]:
    return {library: version(library) for library in ("torch", "transformers", "safetensors")}


@dataclass(frozen=True)
class Manifest:
    """Everything that shapes the stored features, and nothing that does not.

    Number of actors, batch and shard size are left out: they change no feature. Library versions
    are only recorded, here for the first writer and in every shard for its own.

    width           D of the target
    answers         whose answers the text is: "dataset" or "target"
    max_new_tokens  limit of the target's own answers, else None
    origin          who computed the features: "dump", or "import" where somebody else did
    inner           the decoder layer whose hidden states are stored too; None: of no layer
    """

    target: str
    fingerprint: str
    dtype: str
    max_length: int
    width: int
    answers: str = "dataset"
    max_new_tokens: int | None = None
    origin: str = "dump"
    inner: int | None = None
    format: int = FORMAT
    features: str = FEATURES
    versions: dict[str, str] = field(default_factory=library_versions)

    @property
    def settings_hash(self) -> str:
        """16 hex digits of all that shapes features: equal hashes may share a folder."""
        shaping = {name: value for name, value in asdict(self).items() if name not in RECORDED_ONLY}
        if self.inner is None:
            del shaping["inner"]  # a store without inner states is what it was before there were any
        return sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:16]

    def differences(self, other: "Manifest") -> list[str]:
        """One `name: here → there` for each shaping entry that differs."""
        pairs = {entry.name: (getattr(self, entry.name), getattr(other, entry.name))
                 for entry in fields(self) if entry.name not in RECORDED_ONLY}
        return [f"{name} {mine} → {theirs}" for name, (mine, theirs) in pairs.items() if mine != theirs]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Raises UserError where `folder` is no feature store, a damaged one, or one of another format."""
        path = folder / FILE
        if not path.is_file():
            raise UserError(f"no feature store at {folder}: run `specflash dump` first")
        try:
            entries = json.loads(path.read_bytes())
            found = entries["format"]
            manifest = cls(**{name: value for name, value in entries.items() if name != "settings_hash"})
            whole = found != FORMAT or manifest.settings_hash == entries["settings_hash"]
        except (ValueError, KeyError, TypeError, AttributeError):
            found, whole = FORMAT, False
        if found != FORMAT:
            raise UserError(f"{folder} holds features of format {found}, this version reads "
                            f"{FORMAT}: dump into another folder")
        if not whole:
            raise UserError(f"{path} is damaged: bring it back, or delete it and run `specflash dump` with the "
                            "settings these features were made with (what is finished is kept)")
        return manifest

    def claim(self, folder: Path) -> None:
        """Write this manifest into a new store, or check it against the one that is there."""
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / FILE).exists():
            entries = {**asdict(self), "settings_hash": self.settings_hash}
            write_whole(folder / FILE, json.dumps(entries, indent=1).encode())
            return
        changed = Manifest.load(folder).differences(self)
        if changed:
            raise UserError(f"{folder} holds features made with other settings ({'; '.join(changed)}): "
                            "set `run` to another folder, or change the settings back")
