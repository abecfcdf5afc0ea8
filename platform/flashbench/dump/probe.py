"""A few samples of the source through the target, before a dump: how long they are and what they cost.

It runs in the driver, with a worker's share of threads, and writes nothing.
"""

import resource
import time
from collections.abc import Iterator, Sequence

import torch

from flashbench.console import progress
from flashbench.dump.estimate import Probe, Shape
from flashbench.dump.extract import extract
from flashbench.settings import DumpSettings
from specflash.answering import answer_together
from specflash.data import Dataset
from specflash.errors import UserError
from specflash.prefix import FeaturePasses
from specflash.records import Features, Sample
from specflash.targets.base import Target


def spread(dataset: Dataset, count: int) -> Iterator[Sample]:
    """Up to `count` samples at even distances that can be read."""
    for place in range(min(count, len(dataset))):
        try:
            yield dataset[place * len(dataset) // min(count, len(dataset))]
        except (UserError, OSError, ValueError):
            continue


def probe_shapes(target: Target, samples: Sequence[Sample], dump: DumpSettings) -> Probe:
    """How long the samples are, without running them; where the target answers, at most so long."""
    room = dump.max_new_tokens if dump.answers == "target" else 0
    shapes, bad = [], 0
    for sample in samples:
        try:
            prompt = target.encode(sample)
            longest = Shape.of(prompt).tokens + room * len(sample.turns)
            shapes.append(Shape(min(longest, dump.max_length), prompt.prefix, len(prompt.spans)))
        except UserError:
            bad += 1
    return Probe(tuple(shapes), bad)


def probe(target: Target, samples: Sequence[Sample], dump: DumpSettings) -> Probe:
    """Run the samples as a worker does, after one that is not counted, and take the time."""
    run = _answered if dump.answers == "target" else _extracted
    with progress("probe", len(samples)) as advance:
        run(target, samples[:1], dump)
        found, seconds, prefix_seconds = [], 0.0, 0.0
        for start in range(0, len(samples), dump.batch):
            part = samples[start:start + dump.batch]
            features, took, of_prefixes = run(target, part, dump)
            found, seconds, prefix_seconds = found + features, seconds + took, prefix_seconds + of_prefixes
            advance(len(part))
    shapes = tuple(Shape.of(features) for features in found if isinstance(features, Features))
    pictures = sum(shape.prefix > 0 for shape in shapes)
    return Probe(shapes, len(found) - len(shapes), seconds / max(1, len(shapes)),
                 prefix_seconds / pictures if pictures else 0.0, _peak_memory(target))


Run = tuple[list[Features | UserError], float, float]
"""Results, seconds that every sample costs, seconds that visual prefixes cost."""


def _extracted(target: Target, samples: Sequence[Sample], dump: DumpSettings) -> Run:
    """Each sample twice: the second time its prefix is there already."""
    passes, found, first, again = FeaturePasses(target), [], 0.0, 0.0
    for sample in samples:
        times = []
        try:
            for _ in range(2):
                started = time.perf_counter()
                features = extract(passes, sample, dump.max_length)
                times.append(time.perf_counter() - started)
        except UserError as error:
            found.append(error)
            continue
        found.append(features)
        first, again = first + times[0], again + times[1]
    return found, again, max(0.0, first - again)


def _answered(target: Target, samples: Sequence[Sample], dump: DumpSettings) -> Run:
    started = time.perf_counter()
    found = answer_together(target, list(samples), dump.max_new_tokens, dump.max_length)
    return found, time.perf_counter() - started, 0.0


def _peak_memory(target: Target) -> int:
    if target.device.type == "cuda":
        return torch.cuda.max_memory_allocated(target.device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
