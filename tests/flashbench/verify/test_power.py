"""The gate has power: every wrong rule of mutants.py is caught, by the part that is named there.

The parts are those of `specflash verify`, on a tiny target: a gate that a mutant passes is a failing test.
"""

from functools import cache
from itertools import product

import pytest

from flashbench.bench.control import hf_generate
from flashbench.bench.methods import Engine
from flashbench.bench.prompts import BenchPrompt
from flashbench.verify.judge import answer_both, judge_float, judge_ids, judge_own
from flashbench.verify.law import EXACT as EXACT_LAW
from flashbench.verify.law import distance
from flashbench.verify.plan import Comparison
from flashbench.verify.rehearsed import REHEARSED, Rehearsed
from flashbench.verify.verdict import EXACT, FLOAT, OUTSIDE, OWN, Outcome
from specflash.decoding import generate
from specflash.drafts.base import Draft
from specflash.drafts.store import make_draft
from specflash.sampling import Sampling
from tests.decoding.scripted import SAMPLES, VANILLA
from tests.drafts import test_parity as parity
from tests.drafts.toy import ONE_PICTURE, SETTINGS
from tests.flashbench.verify import mutants, tree_mutants
from tests.tiny import tiny_target

LIMIT = 14
GREEDY = mutants.GREEDY | tree_mutants.GREEDY
LAW = mutants.LAW | tree_mutants.LAW
WARPED = Sampling(0.7, max_new_tokens=4)


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    target = tiny_target(tmp_path_factory.mktemp("tiny-llava"))
    target.end_ids = frozenset()
    return target


@pytest.fixture(scope="module")
def bf16_target(tmp_path_factory):
    target = tiny_target(tmp_path_factory.mktemp("tiny-llava-bf16"), "bfloat16")
    target.end_ids = frozenset()
    return target


@pytest.fixture(scope="module")
def texts(target):
    """What vanilla says, before anything is broken; the rehearsed draft knows it."""
    return {name: said(target, VANILLA, name, LIMIT + 8) for name in ("text", "picture")}


def said(target, draft: Draft, name: str, limit: int = LIMIT) -> list[int]:
    return generate(target, draft, target.encode(SAMPLES[name]), Sampling(max_new_tokens=limit)).ids


def comparison(check: str, method: str, name: str, k: int | None = None) -> Comparison:
    prompt = BenchPrompt("task", name, SAMPLES[name], LIMIT, False)
    return Comparison(check, method, prompt, LIMIT, k, 3, "")


def greedy_part(target) -> list[Outcome]:
    """Every draft against vanilla, in float32, with other ends."""
    outcomes = []
    for name in ("text", "picture"):
        text, prompt = said(target, VANILLA, name), target.encode(SAMPLES[name])
        for k, method in product((1, 4), REHEARSED):
            outcomes += judge_float(Engine(target, {}), comparison(FLOAT, method, name, k), prompt, text)
    return [outcome for outcome in outcomes if not outcome.equal]


def outside_part(target) -> list[Outcome]:
    outcomes = []
    for name in ("text", "picture"):
        prompt = target.encode(SAMPLES[name])
        one = comparison(OUTSIDE, "hf-generate", name)
        outcomes.append(judge_ids(Engine(target, {}), one, prompt, theirs(target, prompt), said(target, VANILLA, name)))
    return [outcome for outcome in outcomes if not outcome.equal]


def theirs(target, prompt) -> list[int]:
    target.end_ids = frozenset([10**6])  # the library wants one; it is no token
    try:
        return hf_generate(target, prompt, LIMIT).ids
    finally:
        target.end_ids = frozenset()


def bits_part(target) -> list[Outcome]:
    """Tokens and logits at a constant number of rows, in bf16."""
    outcomes = []
    for name in ("text", "picture"):
        prompt = target.encode(SAMPLES[name])
        reference = answer_both(Engine(target, {}), VANILLA, prompt, LIMIT, exact_first=False)
        engine = Engine(target, {Rehearsed.name: Rehearsed(5, reference.exact.ids, target.vocabulary)})
        outcomes += judge_own(engine, comparison(OWN, Rehearsed.name, name), prompt, reference)[0]
    return [outcome for outcome in outcomes if outcome.check == EXACT and not outcome.equal]


@cache
def unbroken(name: str, mode: str) -> float:
    """How far the right rules are from the law: several wrong ones are held against the same."""
    return distance(name, mode, WARPED)


def draft_part(name: str) -> None:
    parity.test_loss_path_and_session_agree(name, {}, ONE_PICTURE)
    parity.test_cached_drafting_equals_drafting_from_scratch(name, {}, ONE_PICTURE)


def test_the_right_rules_pass(target, bf16_target):
    assert greedy_part(target) == outside_part(target) == bits_part(target) == bits_part(bf16_target) == []


@pytest.mark.parametrize("mutant", GREEDY)
def test_the_greedy_part_catches(target, mutant, monkeypatch):
    GREEDY[mutant](monkeypatch)
    assert greedy_part(target)


@pytest.mark.parametrize("mutant", mutants.OUTSIDE)
def test_the_outside_part_catches(target, mutant, monkeypatch):
    mutants.OUTSIDE[mutant](monkeypatch)
    assert outside_part(target)


@pytest.mark.parametrize("mutant", mutants.BITS)
def test_the_bits_catch(target, mutant, monkeypatch):
    """In float32: so small a model's bf16 logits are too coarse to tell one order of summing from another."""
    mutants.BITS[mutant](monkeypatch)
    assert bits_part(target)


@pytest.mark.parametrize("mutant", LAW)
def test_the_law_catches(mutant, monkeypatch):
    name, mode, break_it = LAW[mutant]
    assert unbroken(name, mode) <= EXACT_LAW
    break_it(monkeypatch)
    assert distance(name, mode, WARPED) > 1e-4


def test_drawing_without_replacement_is_exact_once_q_is_renormalised(monkeypatch):
    monkeypatch.setattr(Draft, "choose", mutants.without_replacement(renormalised=True))
    assert distance("medusa", "drawn", WARPED) <= EXACT_LAW


@pytest.mark.parametrize("mutant", mutants.DRAFTS)
def test_wrong_drafts_are_caught_though_they_change_no_text(target, texts, mutant, monkeypatch):
    name, break_it = mutants.DRAFTS[mutant]
    break_it(monkeypatch)
    with pytest.raises((AssertionError, RuntimeError)):  # the latter where the draft's cache overflows
        draft_part(name)
    made = make_draft(name, SETTINGS[name], target.width).attach(target.ends).eval()
    assert said(target, made, "picture") == texts["picture"][:LIMIT]
