"""What one actor of the dump does: the frozen target over samples, features into shards.

It knows no data set and no other actor. Samples come in as encoded pictures and text, only rows
about them go out; the features themselves never travel through Ray.
"""

import os
from collections.abc import Iterable, Iterator

import pyarrow as pa
import ray
import torch

from flashbench.dump.manifest import Manifest
from flashbench.dump.rows import BAD, FULL, OUTCOME_SCHEMA, STORED, to_sample
from flashbench.dump.shards import Limits, ShardWriter, Writer, piece_name
from flashbench.lock import holder
from flashbench.ray_session import use_threads
from flashbench.settings import Settings
from specflash.answering import answer_together
from specflash.errors import UserError
from specflash.files import DiskFull
from specflash.prefix import FeaturePasses
from specflash.records import Features, Sample, parted
from specflash.targets import load_target
from specflash.targets.base import Target


def load_for_actor(settings: Settings) -> Target:
    """The frozen target on this worker's accelerator, with this worker's share of threads."""
    use_threads(settings.dump.cpus_per_actor)
    device = settings.target.device
    if device == "auto":
        device = "cuda" if ray.get_gpu_ids() and torch.cuda.is_available() else "cpu"
    choice = settings.target
    return load_target(choice.name, choice.weights, choice.dtype, device, device_map=choice.device_map)


def extract(passes: FeaturePasses, sample: Sample, max_length: int,
            dtype: torch.dtype | None = torch.bfloat16) -> Features:
    """The sample through the target, its visual prefix first and the rest on top (specflash/prefix.py).

    dtype  of the features, as a store has them; None: as the target gives them

    Raises UserError where the sample cannot be trained on.
    """
    prompt = passes.target.encode(sample)
    if prompt.length > max_length:
        raise UserError(f"{prompt.length} tokens are more than dump.max_length={max_length}")
    if not prompt.answer_mask.any():
        raise UserError("no answer token to train on")
    features, inner = parted(passes.rows(prompt).to("cpu", dtype), passes.target.width)    # [L, D], [L, D] or None
    return Features(id=sample.id, ids=prompt.ids[0].cpu(), features=features, inner=inner, spans=prompt.spans,
                    answer_mask=prompt.answer_mask[0].cpu())


class Extractor:
    """Holds a frozen target for `map_batches`. Each piece of work has its own shards, whole.

    Ray Data tells an actor neither that a call is its last one nor when the stream ends, so a
    shard never outlives the piece that began it: nothing is left to flush.
    """

    def __init__(self, settings: Settings):
        self.settings = settings
        self.holder = holder(settings.dump_folder)
        self.target = load_for_actor(settings)
        self.inner = Manifest.load(settings.dump_folder).inner
        self.passes = FeaturePasses(self.target, self.inner)
        gpus = tuple(str(gpu) for gpu in ray.get_gpu_ids())
        self.writer = Writer(pid=os.getpid(), gpus=gpus, device=str(self.target.device))

    def __call__(self, batch: pa.Table) -> pa.Table:
        outcomes = [outcome for piece in batch.to_pylist() for outcome in self._outcomes(piece["samples"])]
        return pa.Table.from_pylist(outcomes, schema=OUTCOME_SCHEMA)

    def _outcomes(self, rows: list[dict]) -> Iterator[dict]:
        yield from (_outcome(row, BAD, row["reason"]) for row in rows if row["reason"] is not None)
        good = {row["id"]: row for row in rows if row["reason"] is None}
        dump = self.settings.dump
        shards = ShardWriter(self.settings.dump_folder, piece_name(list(good)),
                             Limits(dump.shard_mb, dump.reserve_mb), self.writer, self.holder)
        todo = [to_sample(row) for sample, row in good.items() if sample not in shards.done]
        bad: dict[str, str] = {}
        try:
            for sample, features in zip(todo, self._features(todo), strict=True):
                if isinstance(features, UserError):
                    bad[sample.id] = str(features)
                else:
                    shards.add(features)
            shards.flush()
        except DiskFull as error:
            yield {"outcome": FULL, "reason": str(error)}
            return
        yield from (_outcome(row, BAD if sample in bad else STORED, bad.get(sample)) for sample, row in good.items())

    def _features(self, samples: list[Sample]) -> Iterable[Features | UserError]:
        """The features of each sample, or why it is a bad one."""
        dump = self.settings.dump
        if dump.answers == "target":
            return answer_together(self.target, samples, dump.max_new_tokens, dump.max_length, self.inner)
        return (_extract_or_reason(self.passes, sample, dump.max_length) for sample in samples)


def _extract_or_reason(passes: FeaturePasses, sample: Sample, max_length: int) -> Features | UserError:
    try:
        return extract(passes, sample, max_length)
    except UserError as error:
        return error


def _outcome(row: dict, outcome: str, reason: str | None) -> dict:
    return {"index": row["index"], "id": row["id"], "outcome": outcome, "reason": reason}
