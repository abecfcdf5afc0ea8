"""The verify stage: every draft against vanilla, tokens, bits, laws and drawn answers.

It knows which checks there are and where results lie; what a check does is in judge.py, law.py and
draws.py, what is checked by which is a table in docs/losslessness.md. It finishes one piece of
work at a time: killed at any moment, it goes on with the next.
"""

import gc
from collections.abc import Iterable
from dataclasses import asdict

import torch

from flashbench.bench.control import hf_generate
from flashbench.bench.methods import Engine, conditions_fingerprint, load_engine
from flashbench.bench.prompts import BenchPrompt
from flashbench.bench.rows import HF_GENERATE, VANILLA
from flashbench.console import note, progress
from flashbench.fingerprint import digest, engine_fingerprint
from flashbench.journal import Journal, Record
from flashbench.lock import sole_writer
from flashbench.settings import Settings
from flashbench.verify.chi_square import Homogeneity
from flashbench.verify.draws import run_draws
from flashbench.verify.judge import Both, answer_both, judge_float, judge_ids, judge_own
from flashbench.verify.law import Law, check_laws
from flashbench.verify.plan import FORMAT, Comparison, make_plan
from flashbench.verify.verdict import OUTSIDE, OWN, Cost, Outcome, Verdict
from specflash.cache import HEADROOM
from specflash.decoding import generate
from specflash.records import Prompt
from specflash.sampling import Sampling
from specflash.targets import load_target


def run_verify(settings: Settings) -> Verdict:
    """Compare, write `verify.json` and return the verdict.

    What was compared before with the same weights, settings and code is not done again.
    """
    with sole_writer(settings.run / "verify", "verify"):
        return _verify(settings)


def _verify(settings: Settings) -> Verdict:
    journal = Journal(settings.run / "verify" / "rows.jsonl")
    plan = make_plan(settings)
    laws = _laws(settings, [VANILLA, *plan.drafts], journal)
    _run_missing(settings, "float32", plan.in_float, journal)
    _run_missing(settings, settings.target.dtype, plan.in_own, journal)
    draws = run_draws(settings, plan.drafts, journal)
    verdict = _verdict(settings, [journal.get(one.key, one.fingerprint) for one in [*plan.in_float, *plan.in_own]],
                       plan.drafts, laws, draws)
    verdict.write(settings.run / "verify.json")
    verdict.show()
    return verdict


def _verdict(settings: Settings, records: list[Record], drafts: dict[str, str], laws: Iterable[Law],
             draws: Iterable[Homogeneity]) -> Verdict:
    outcomes = (Outcome(**outcome) for record in records for outcome in record["outcomes"])
    costs = (Cost(**record["cost"]) for record in records if record["cost"])
    return Verdict(settings.target.dtype, HEADROOM, settings.verify.max_new_tokens, tuple(outcomes),
                   {"drafts": drafts, "engine": conditions_fingerprint(settings, "float32")},
                   tuple(laws), tuple(draws), tuple(costs))


def _laws(settings: Settings, methods: list[str], journal: Journal) -> list[Law]:
    temperatures = settings.verify.temperatures
    if not temperatures:
        return []
    fingerprint = digest([FORMAT, engine_fingerprint(), temperatures])
    missing = [name for name in methods if journal.find(f"law/{name}", fingerprint) is None]
    if missing:
        with progress("verify: laws on a tiny target", len(missing)) as advance:
            for name in missing:
                laws = [asdict(law) for law in check_laws(name, temperatures)]
                journal.add({"key": f"law/{name}", "fingerprint": fingerprint, "laws": laws})
                advance()
    return [Law(**law) for name in methods for law in journal.get(f"law/{name}", fingerprint)["laws"]]


def _run_missing(settings: Settings, dtype: str, comparisons: list[Comparison], journal: Journal) -> None:
    missing = [one for one in comparisons if journal.find(one.key, one.fingerprint) is None]
    if len(missing) < len(comparisons):
        note(f"verify: {len(comparisons) - len(missing)} of {len(comparisons)} answers in {dtype} "
             "were compared before under the same conditions; reused")
    if not missing:
        return
    outside = _outside_answers(settings, [one for one in missing if one.method == HF_GENERATE])
    engine = load_engine(settings, dtype)
    held: tuple[BenchPrompt, Prompt, list[int] | Both] | None = None
    with progress(f"verify in {dtype}", len(missing)) as advance:
        # Prompt by prompt, so that vanilla decodes each prompt once and is then forgotten.
        for one in sorted(missing, key=lambda one: one.prompt.key):
            if held is None or held[0] != one.prompt:
                prompt = engine.target.encode(one.prompt.request)
                held = (one.prompt, prompt, _reference(engine, one, prompt))
            journal.add(_compare(engine, one, *held[1:], outside.get(one.key)))
            advance()
    del engine
    gc.collect()


def _reference(engine: Engine, one: Comparison, prompt: Prompt) -> list[int] | Both:
    """What vanilla says: ids, or for the checks in the target's own number format both its answers."""
    vanilla = engine.drafts[VANILLA]
    if one.check == OWN:
        return answer_both(engine, vanilla, prompt, one.limit, exact_first=False)
    return generate(engine.target, vanilla, prompt, Sampling(max_new_tokens=one.limit)).ids


def _outside_answers(settings: Settings, comparisons: list[Comparison]) -> dict[str, list[int]]:
    """What the transformers library answers, by the comparison's key; its model is gone afterwards."""
    if not comparisons:
        return {}
    torch.set_num_threads(settings.threads)
    choice, answers = settings.target, {}
    target = load_target(choice.name, choice.weights, "float32", choice.device, plain=True,
                         device_map=choice.device_map)
    with progress("verify: transformers' own generate", len(comparisons)) as advance:
        for one in comparisons:
            answers[one.key] = hf_generate(target, target.encode(one.prompt.request), one.limit).ids
            advance()
    return answers


def _compare(engine: Engine, one: Comparison, prompt: Prompt, reference: list[int] | Both,
             outside: list[int] | None) -> Record:
    """outside  the answer where another engine gave it already"""
    cost = None
    if one.check == OWN:
        outcomes, cost = judge_own(engine, one, prompt, reference)
    elif one.check == OUTSIDE:
        outcomes = [judge_ids(engine, one, prompt, outside, reference)]
    else:
        outcomes = judge_float(engine, one, prompt, reference)
    return {"key": one.key, "fingerprint": one.fingerprint, "outcomes": [asdict(outcome) for outcome in outcomes],
            "cost": None if cost is None else asdict(cost)}
