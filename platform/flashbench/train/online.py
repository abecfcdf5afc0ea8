"""Training without stored features: the frozen target runs inside each training worker.

    driver    encodes every sample once, without the target's weights, and writes RUN/online/index.json: who there is,
              how long each is, and of how many answer tokens; so every worker plans the same batches
    worker    holds the target, and makes a sample's features when a batch asks for it

A target costs one pass per sample and epoch, and memory in every worker; a store costs its bytes once (docs/store.md
has both). What comes out is the same: the passes are the dump's (specflash/prefix.py), and a sample's features
depend on no other sample, so training can stop and go on as with a store. Stored features are rounded to bfloat16;
these are as the target gives them.

The text must be there already: `specflash regenerate` writes the target's own answers down as a data set.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Tensor

from flashbench.console import note, progress
from flashbench.dump.extract import extract
from flashbench.dump.manifest import Manifest
from flashbench.dump.pipeline import manifest_of
from flashbench.dump.plan import source_name
from flashbench.dump.quarantine import Quarantined, check_budget, write_quarantine
from flashbench.dump.read import open_source
from flashbench.dump.shards import Row
from flashbench.settings import Settings
from specflash.data import Dataset
from specflash.errors import UserError, one_line
from specflash.files import write_whole
from specflash.prefix import FeaturePasses
from specflash.records import Features, Prompt, Sample
from specflash.targets import load_encoder, load_target
from specflash.targets.base import Target

INDEX = "index.json"


class Online:
    """A source whose features the target makes. Without a target it knows who there is, and makes none.

    places  of each sample in the data set, by its id
    """

    def __init__(self, folder: Path, index: dict, dataset: Dataset, target: Target | None = None):
        self.folder, self._dataset = folder, dataset
        self.manifest = Manifest(**index["manifest"])
        entries = sorted(index["samples"], key=lambda entry: entry["id"])
        self.rows: Sequence[Row] = tuple(Row(entry["id"], "", entry["tokens"], len(entry["answer"]), "")
                                         for entry in entries)
        self._answers = {entry["id"]: entry["answer"] for entry in entries}
        self._places = {entry["id"]: entry["place"] for entry in entries}
        self._passes = None if target is None else FeaturePasses(target, self.manifest.inner)

    def ids(self) -> list[str]:
        return [row.id for row in self.rows]

    def lengths(self) -> list[int]:
        return [row.tokens for row in self.rows]

    def answer_ids(self, key: str) -> Tensor:
        """Tokens of the sample's answers [answer_tokens]."""
        return torch.tensor(self._answers[key])

    def read(self, key: str, inner: bool = True) -> Features:
        """The sample with this id, from the target; with inner states where they are wanted and a layer is named.

        Raises UserError where the data set has changed since the index was made.
        """
        sample = self._dataset[self._places[key]]
        if sample.id != key:
            raise UserError(f"dump.source is not what it was when {self.folder / INDEX} was made: delete that file and "
                            "run `specflash train` again")
        made = extract(self._passes, sample, self.manifest.max_length, dtype=None)
        return made if inner else replace(made, inner=None)


def index_source(settings: Settings) -> Online:
    """Who there is to train on, for the driver; an index of the same conditions is taken as it is.

    Raises UserError where the text is yet to be spoken, where too many samples are bad, and where there are none.
    """
    dump = settings.dump
    if dump.answers == "target":
        raise UserError("train.features=online trains on text that is there, and dump.answers=target is yet to be "
                        "spoken: run `specflash regenerate`, then set dump.answers=dataset and dump.source to what it "
                        "wrote (docs/store.md)")
    folder, dataset = settings.online_folder, open_source(dump)
    if len(dataset) == 0:
        raise UserError(f"{source_name(settings)} holds no samples: choose another `dump.source`")
    conditions = _conditions(settings, dataset)
    known = _read(folder)
    if known is None or known["conditions"] != conditions:
        known = {"conditions": conditions, **_indexed(settings, dataset)}
        write_whole(folder / INDEX, json.dumps(known).encode())
    return Online(folder, known, dataset)


def open_online(settings: Settings, device: torch.device) -> Online:
    """For a worker: the same samples, and the target that makes their features."""
    choice, index = settings.target, _read(settings.online_folder)
    if index is None:
        raise UserError(f"{settings.online_folder / INDEX} is gone: run `specflash train` again")
    target = load_target(choice.name, choice.weights, choice.dtype, str(device), device_map=choice.device_map)
    return Online(settings.online_folder, index, open_source(settings.dump), target)


def _conditions(settings: Settings, dataset: Dataset) -> dict:
    """What an index follows from, without looking at a sample."""
    manifest = manifest_of(settings.model_copy(update={"dump": settings.dump.model_copy(update={"inner": None})}),
                           dataset, settings.online_folder)
    return {"manifest": manifest.settings_hash, "inner": settings.dump.inner, "samples": len(dataset),
            "source": settings.dump.source.model_dump(mode="json")}


def _indexed(settings: Settings, dataset: Dataset) -> dict:
    """The manifest, and every sample that can be trained on."""
    manifest = manifest_of(settings, dataset, settings.online_folder)
    encoder = load_encoder(settings.target.name, settings.target.weights)
    samples, bad = {}, []
    with progress("index samples", len(dataset)) as advance:
        for place in range(len(dataset)):
            try:
                sample = dataset[place]
                samples.setdefault(sample.id, _entry(sample, place, encoder.encode(sample), settings.dump.max_length))
            except (UserError, OSError, ValueError) as error:
                bad.append(Quarantined(source_name(settings), place, None, one_line(error)))
            advance()
    settings.online_folder.mkdir(parents=True, exist_ok=True)
    write_quarantine(settings.online_folder, source_name(settings), bad)
    check_budget(bad, len(dataset), settings.dump.error_budget, settings.online_folder)
    note(f"{len(samples)} samples to train on, {len(bad)} in quarantine, in {settings.online_folder}")
    return {"manifest": asdict(manifest) | {"origin": "online"}, "samples": list(samples.values())}


def _entry(sample: Sample, place: int, prompt: Prompt, max_length: int) -> dict:
    if prompt.length > max_length:
        raise UserError(f"{prompt.length} tokens are more than dump.max_length={max_length}")
    if not prompt.answer_mask.any():
        raise UserError("no answer token to train on")
    return {"id": sample.id, "place": place, "tokens": prompt.length, "answer": prompt.ids[prompt.answer_mask].tolist()}


def _read(folder: Path) -> dict | None:
    """The index; None where there is none, or a damaged one, which is made again."""
    try:
        index = json.loads((folder / INDEX).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return index if isinstance(index, dict) and index.keys() >= {"conditions", "manifest", "samples"} else None
