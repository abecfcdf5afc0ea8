"""Sampled answers of the real target: are a method's first tokens distributed like vanilla's?

Two samples of seeded answers are compared, place by place, by a χ² test of homogeneity. Many tests
are made, so their p-values are corrected (Holm 1979). Vanilla against vanilla with other seeds is
the control: where that fails, the test itself is not to be trusted, and the gate fails too.
"""

import copy
import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from flashbench.bench.methods import conditions_fingerprint, load_engine
from flashbench.bench.prompts import bench_prompts
from flashbench.bench.rows import VANILLA
from flashbench.console import progress
from flashbench.fingerprint import digest
from flashbench.journal import Journal
from flashbench.settings import Settings
from flashbench.verify.chi_square import Homogeneity, chi_square, holm, tail
from flashbench.verify.plan import FORMAT
from specflash.cache import FixedCache
from specflash.decoding import generate
from specflash.drafts.base import Draft
from specflash.records import Output, Prompt
from specflash.sampling import Sampling
from specflash.targets.base import Target

TEMPERATURE = 1.0
PLACES = 3
"""Places of the answer that are tested, the first after the token of the prefill."""
NOTHING = -1
"""Stands where the answer has ended."""
REFERENCE = "vanilla, other seeds"


def run_draws(settings: Settings, drafts: dict[str, str], journal: Journal) -> list[Homogeneity]:
    """The tests of every method and of vanilla itself against other answers of vanilla, on one prompt."""
    draws = settings.verify.draws
    if not draws:
        return []
    prompt = bench_prompts(settings)[0]
    conditions = conditions_fingerprint(settings, settings.target.dtype)
    prints = {name: digest([FORMAT, conditions, weights, draws])
              for name, weights in {REFERENCE: "", VANILLA: "", **drafts}.items()}
    keys = {name: f"draws/{prompt.key}/{name}" for name in prints}
    missing = [name for name in prints if journal.find(keys[name], prints[name]) is None]
    if missing:
        engine = load_engine(settings, settings.target.dtype)
        encoded = engine.target.encode(prompt.request)
        with progress("verify: drawn answers", len(missing)) as advance:
            for name in missing:
                draft = engine.drafts[VANILLA if name == REFERENCE else name]
                first = list(prints).index(name) * draws  # no two methods share a seed
                said = first_tokens(engine.target, draft, encoded, range(first, first + draws))
                journal.add({"key": keys[name], "fingerprint": prints[name], "tokens": said})
                advance()
        del engine
        gc.collect()
    said = {name: journal.get(keys[name], prints[name])["tokens"] for name in prints}
    reference = said.pop(REFERENCE)
    tests = [test for name, ours in said.items() for test in compare_draws(name, prompt.sample, ours, reference)]
    return [replace(test, corrected=corrected)
            for test, corrected in zip(tests, holm([test.p for test in tests]), strict=True)]


def first_tokens(target: Target, draft: Draft, prompt: Prompt, seeds: Sequence[int]) -> list[list[int]]:
    """The tokens at the tested places, one answer per seed."""
    remembering = without_repeated_prefill(target)
    answers = []
    for seed in seeds:
        sampling = Sampling(TEMPERATURE, seed=seed, max_new_tokens=1 + PLACES)
        tokens = generate(remembering, draft, prompt, sampling).ids[1:]
        answers.append(tokens + [NOTHING] * (PLACES - len(tokens)))
    return answers


def compare_draws(method: str, sample: str, ours: list[list[int]], reference: list[list[int]]) -> Iterator[Homogeneity]:
    """One test per place."""
    for place, (one, other) in enumerate(zip(zip(*ours, strict=True), zip(*reference, strict=True), strict=True), 1):
        statistic, freedom = chi_square(Counter(one), Counter(other))
        yield Homogeneity(method, sample, place, len(ours), statistic, freedom, tail(statistic, freedom))


def without_repeated_prefill(target: Target) -> Target:
    """The target, computing the pass over one and the same prompt once; later requests get a copy of it."""
    remembering, held = copy.copy(target), {}

    def embed_prompt(prompt: Prompt) -> torch.Tensor:
        if "embeds" not in held:
            held["embeds"] = target.embed_prompt(prompt)
        return held["embeds"]

    def forward(embeds, cache: FixedCache, positions, mask, keep: int, inner: int | None = None) -> Output:
        if mask is not None:
            return target.forward(embeds, cache, positions, mask, keep, inner)
        if "output" not in held:
            held["output"] = target.forward(embeds, cache, positions, mask, keep, inner)
            held["layers"] = [(layer.keys.clone(), layer.values.clone()) for layer in cache.layers]
        for layer, (keys, values) in zip(cache.layers, held["layers"], strict=True):
            layer.keys, layer.values, layer.is_initialized = keys.clone(), values.clone(), True
        return held["output"]

    remembering.embed_prompt, remembering.forward = embed_prompt, forward
    return remembering
