"""The import: what lies at the places a user names, sorted into features and answers. It reads neither itself."""

from collections.abc import Sequence
from pathlib import Path

from flashbench.bring_in.answers import import_answers
from flashbench.bring_in.features import import_features
from flashbench.console import note
from flashbench.dump.account import Account
from flashbench.settings import Settings
from specflash.errors import UserError

FEATURES, ANSWERS = (".ckpt", ".pt"), (".jsonl",)


def run_import(settings: Settings, sources: Sequence[Path]) -> list[Account]:
    """One account of the feature files and one of the answers, of what there is.

    Raises UserError where nothing that can be imported is named, and what the two imports raise.
    """
    if not sources:
        raise UserError("name what to import with --from: a folder of .ckpt or .pt files, or an answer file (.jsonl)")
    files = [file for source in sources for file in _files(source)]
    features, answers = (list(dict.fromkeys(file for file in files if file.suffix in endings))
                         for endings in (FEATURES, ANSWERS))
    others = len(set(files)) - len(features) - len(answers)
    if others:
        note(f"{others} files are neither {', '.join(FEATURES + ANSWERS)} and are left where they are")
    if not features and not answers:
        raise UserError(f"nothing to import below {', '.join(map(str, sources))}: "
                        f"expected files that end in {', '.join(FEATURES + ANSWERS)}")
    return ([import_features(settings, features)] if features else []) + (
        [import_answers(settings.run / "imported", answers)] if answers else [])


def _files(source: Path) -> list[Path]:
    if source.is_dir():
        return sorted(path for path in source.rglob("*") if path.is_file())
    if not source.is_file():
        raise UserError(f"nothing at {source}: name a file or a folder")
    return [source]
