"""The verify stage: greedy answers of every draft against vanilla's, prompt by prompt.

Three checks: every prompt in float32; some prompts in the benchmark's own number format with a
constant number of rows, where even bf16 must agree to the last bit; and vanilla itself against the
transformers library's `generate` on a model with nothing of ours inside it. It times nothing.
"""

import gc
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch

from flashbench.bench.control import hf_generate
from flashbench.bench.methods import Engine, conditions_fingerprint, draft_fingerprints, load_engine
from flashbench.bench.prompts import BenchPrompt, bench_prompts
from flashbench.bench.rows import HF_GENERATE, VANILLA
from flashbench.console import note, progress
from flashbench.fingerprint import digest
from flashbench.journal import Journal, Record
from flashbench.lock import sole_writer
from flashbench.settings import Settings
from flashbench.verify.compare import first_difference, top_two_gap
from flashbench.verify.verdict import EXACT, FLOAT, OUTSIDE, Outcome, Verdict
from specflash.cache import HEADROOM
from specflash.decoding import generate
from specflash.records import Prompt
from specflash.sampling import Sampling
from specflash.targets import load_target

OUTSIDE_PROMPTS = 3
EXACT_PROMPTS = 4


@dataclass(frozen=True)
class Comparison:
    """One answer that is to be held against vanilla's.

    width        rows of every pass; None: as many as there are tokens to judge
    fingerprint  what the answer depends on; an answer with the same one is not decoded again
    """

    check: str
    method: str
    prompt: BenchPrompt
    limit: int
    width: int | None
    fingerprint: str

    @property
    def key(self) -> str:
        return f"{self.check}/{self.prompt.key}/{self.method}"


def run_verify(settings: Settings) -> Verdict:
    """Compare, write `verify.json` and return the verdict.

    Answers compared before with the same weights, settings and code are not decoded again.
    """
    with sole_writer(settings.run / "verify", "verify"):
        return _verify(settings)


def _verify(settings: Settings) -> Verdict:
    journal = Journal(settings.run / "verify" / "rows.jsonl")
    prompts = spread(bench_prompts(settings), settings.verify.prompts)
    drafts = draft_fingerprints(settings)
    in_float = [*_plan(settings, FLOAT, drafts, prompts),
                *_plan(settings, OUTSIDE, {HF_GENERATE: ""}, spread(prompts, OUTSIDE_PROMPTS))]
    in_own = _plan(settings, EXACT, drafts, spread(prompts, EXACT_PROMPTS))
    _run_missing(settings, "float32", in_float, journal)
    _run_missing(settings, settings.target.dtype, in_own, journal)
    outcomes = [Outcome(**journal.get(one.key, one.fingerprint)["outcome"]) for one in [*in_float, *in_own]]
    verdict = Verdict(settings.target.dtype, HEADROOM, settings.verify.max_new_tokens, tuple(outcomes),
                      {"drafts": drafts, "engine": conditions_fingerprint(settings, "float32")})
    verdict.write(settings.run / "verify.json")
    verdict.show()
    return verdict


def spread(prompts: Sequence[BenchPrompt], count: int | None) -> list[BenchPrompt]:
    """`count` prompts at even distances, so that every task has its share (None: all)."""
    if count is None or count >= len(prompts):
        return list(prompts)
    return [prompts[i * len(prompts) // count] for i in range(count)]


def _plan(settings: Settings, check: str, methods: dict[str, str], prompts: list[BenchPrompt]) -> list[Comparison]:
    """methods  name -> hash of its weights"""
    exact = check == EXACT
    conditions = conditions_fingerprint(settings, settings.target.dtype if exact else "float32")
    width = HEADROOM if exact else None
    comparisons = []
    for prompt in prompts:
        limit = min(prompt.max_new_tokens, settings.verify.max_new_tokens)
        comparisons += [Comparison(check, method, prompt, limit, width, digest([conditions, weights, limit, width]))
                        for method, weights in methods.items()]
    return comparisons


def _run_missing(settings: Settings, dtype: str, comparisons: list[Comparison], journal: Journal) -> None:
    missing = [one for one in comparisons if journal.find(one.key, one.fingerprint) is None]
    if len(missing) < len(comparisons):
        note(f"verify: {len(comparisons) - len(missing)} of {len(comparisons)} answers in {dtype} "
             "were compared before under the same conditions; reused")
    if not missing:
        return
    outside = _outside_answers(settings, [one for one in missing if one.method == HF_GENERATE])
    engine = load_engine(settings, dtype)
    references: dict[tuple[str, int | None], list[int]] = {}
    with progress(f"verify in {dtype}", len(missing)) as advance:
        # Prompt by prompt, so that vanilla decodes each prompt once and is then forgotten.
        for one in sorted(missing, key=lambda one: (one.prompt.key, one.width is not None)):
            place = (one.prompt.key, one.width)
            if place not in references:
                references = {place: _answer(engine, VANILLA, one, engine.target.encode(one.prompt.request))}
            journal.add(_compare(engine, one, references[place], outside.get(one.key)))
            advance()
    del engine
    gc.collect()


def _outside_answers(settings: Settings, comparisons: list[Comparison]) -> dict[str, list[int]]:
    """What the transformers library answers, by the comparison's key; its model is gone afterwards."""
    if not comparisons:
        return {}
    torch.set_num_threads(settings.threads)
    choice, answers = settings.target, {}
    target = load_target(choice.name, choice.weights, "float32", choice.device, plain=True)
    with progress("verify: transformers' own generate", len(comparisons)) as advance:
        for one in comparisons:
            answers[one.key] = hf_generate(target, target.encode(one.prompt.request), one.limit).ids
            advance()
    return answers


def _compare(engine: Engine, one: Comparison, reference: list[int], outside: list[int] | None) -> Record:
    """outside  the answer where another engine gave it already"""
    prompt = engine.target.encode(one.prompt.request)
    ids = _answer(engine, one.method, one, prompt) if outside is None else outside
    position = first_difference(ids, reference)
    gap = None if position is None else top_two_gap(engine.target, prompt, reference[:position])
    outcome = Outcome(one.check, one.prompt.task, one.prompt.sample, one.method, len(ids), position, gap)
    return {"key": one.key, "fingerprint": one.fingerprint, "outcome": asdict(outcome)}


def _answer(engine: Engine, method: str, one: Comparison, prompt: Prompt) -> list[int]:
    return generate(engine.target, engine.drafts[method], prompt, Sampling(max_new_tokens=one.limit), one.width).ids
