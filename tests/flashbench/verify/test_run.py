"""The verify stage: equal answers pass, a broken engine fails with the place where it broke."""

import json
from dataclasses import replace

import pytest
import torch

import specflash.decoding
from flashbench.bench import methods
from flashbench.bench.rows import VANILLA
from flashbench.verify import plan as verify_plan
from flashbench.verify import run as verify_run
from flashbench.verify import run_verify
from flashbench.verify.chi_square import Homogeneity
from flashbench.verify.tiny import modes_of
from flashbench.verify.verdict import Outcome, Verdict
from specflash.drafts.base import Session
from specflash.drafts.vanilla import Vanilla
from specflash.records import Proposal
from tests.flashbench.experiment import make_experiment


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    settings = make_experiment(tmp_path_factory.mktemp("experiment"), verify={"max_new_tokens": 8, "temperatures": [1]})
    return settings, run_verify(settings)


def test_the_drafts_are_lossless(verified):
    _, verdict = verified
    assert verdict
    assert verdict.failures == []


def test_every_draft_is_held_against_vanilla_on_every_prompt(verified):
    counts = {(line["check"], line["method"]): (line["answers"], line["equal"]) for line in verified[1].lines()}
    ordinary = {key: counts.pop(key)[0] for key in list(counts) if key[0] == "own"}  # a tie may be among them
    assert counts == {("float32", "eagle"): (3, 3), ("float32", "specflash"): (3, 3),
                      ("outside", "hf-generate"): (3, 3), ("exact", "eagle"): (3, 3), ("exact", "specflash"): (3, 3)}
    assert ordinary == {("own", "vanilla"): 3, ("own", "eagle"): 3, ("own", "specflash"): 3}


def test_every_method_s_laws_and_the_price_of_the_exact_mode_are_told(verified, capsys):
    verdict = verified[1]
    assert {(line["method"], line["mode"]) for line in verdict.law_lines()} == {
        ("vanilla", "likeliest"), *((name, mode) for name in ("eagle", "specflash") for mode in modes_of(name))}
    costs = list(verdict.cost_lines())
    assert [line["method"] for line in costs] == ["vanilla", "eagle", "specflash"]
    assert all(line["exact_ms"] > 0 and line["ordinary_ms"] > 0 for line in costs)
    verdict.show()
    told = capsys.readouterr().out
    assert "Law of the next three tokens" in told and "What 32 rows in every pass cost" in told


def test_lengths_cuts_and_drawn_answers_are_compared_when_asked_for(tmp_path):
    """The whole gate on one prompt: other numbers of drafted tokens, earlier ends, and the χ² test."""
    settings = make_experiment(tmp_path, prompts=1, verify={
        "max_new_tokens": 8, "lengths": [1, 2, 6], "cuts": 3, "temperatures": [], "draws": 40})
    verdict = run_verify(settings)
    assert verdict, verdict.failures
    tried = {(outcome.method, outcome.k) for outcome in verdict.outcomes if outcome.check == "float32"}
    assert tried == {("eagle", None), ("eagle", 1), ("eagle", 2), ("specflash", None), ("specflash", 1),
                     ("specflash", 2),
                     *((name, k) for name in ("rehearsed", "rehearsed-tree") for k in (1, 2, 6))}
    assert [(test.method, test.place) for test in verdict.draws] == [
        (method, place) for method in ("vanilla", "eagle", "specflash") for place in (1, 2, 3)]
    assert run_verify(settings) == verdict
    record = json.loads((settings.run / "verify.json").read_text())
    assert len(record["draws"]) == 9 and all(test["same"] for test in record["draws"])


def test_a_wrong_law_and_strange_draws_fail_the_gate(verified, capsys):
    verdict = verified[1]
    law = replace(verdict.laws[0], distance=1e-3)
    draws = Homogeneity("eagle", "p", 1, 100, 50.0, 3, 1e-6, 1e-4)
    for found, told in (({"laws": (law,)}, "1 of 1 laws"), ({"draws": (draws,)}, "1 of 1 tests of drawn answers")):
        failed = replace(verdict, **found)
        assert not failed
        failed.show()
        assert f"NOT lossless: {told}" in capsys.readouterr().out


@pytest.mark.parametrize(("check", "kind", "passes"), [
    ("own", "tie", True), ("own", "real", False), ("float32", "tie", False), ("exact", "tie", False),
    ("exact", "bits", False), ("float32", "end", False), ("outside", "tie", False)])
def test_only_ties_of_ordinary_passes_in_low_precision_are_excused(check, kind, passes, capsys):
    outcome = Outcome(check, "captions", "p", "eagle", 8, position=3, gap=0.1, ulps=1.0, lag=1.0, kind=kind)
    verdict = Verdict("bfloat16", 32, 8, (outcome,), {})
    assert bool(verdict) is passes
    verdict.show()
    assert "eagle" in capsys.readouterr().out


def test_the_record_says_the_same(verified):
    settings, verdict = verified
    record = json.loads((settings.run / "verify.json").read_text())
    assert record["lossless"] is True
    assert record["lines"] == list(verdict.lines())


def test_compared_answers_are_not_decoded_again(verified, monkeypatch):
    settings, verdict = verified
    monkeypatch.setattr(verify_run, "load_engine", lambda *_: pytest.fail("the target was loaded"))
    assert run_verify(settings) == verdict


def test_a_kill_costs_only_the_unfinished_answers(verified, monkeypatch):
    settings, verdict = verified
    path = settings.run / "verify" / "rows.jsonl"
    kept = path.read_text().splitlines(keepends=True)[:-2]
    path.write_text("".join(kept))
    decoded = []
    compare = verify_run._compare
    monkeypatch.setattr(verify_run, "_compare", lambda *given: decoded.append(given) or compare(*given))
    assert replace(run_verify(settings), costs=verdict.costs) == verdict
    assert len(decoded) == 2


def test_the_outside_answer_comes_from_a_plain_model_without_its_own_habits(tmp_path, monkeypatch):
    """A repetition penalty in the target's own generation settings is no part of greedy decoding."""
    settings = make_experiment(tmp_path, prompts=1)
    habits = tmp_path / "target" / "generation_config.json"
    habits.write_text(json.dumps({**json.loads(habits.read_text()), "repetition_penalty": 5.0,
                                  "no_repeat_ngram_size": 1, "num_beams": 3}))
    asked, inner = [], verify_run.load_target
    monkeypatch.setattr(verify_run, "load_target", lambda *a, **k: asked.append(k) or inner(*a, **k))
    verdict = run_verify(settings)
    assert [options["plain"] for options in asked] == [True]
    assert [outcome.equal for outcome in verdict.outcomes if outcome.check == "outside"] == [True]


def test_nothing_compared_is_not_lossless(capsys):
    nothing = Verdict("bfloat16", 32, 8, (), {})
    assert not nothing
    nothing.show()
    assert "Nothing was compared" in capsys.readouterr().out


class Stubborn(Vanilla):
    """Always drafts token 7."""

    def start(self, prompt, output, token, capacity):
        return StubbornSession()


class StubbornSession(Session):
    def propose(self, sampling, chance, limit):
        return Proposal(torch.full((min(2, limit),), 7))

    def advance(self, ids, features):
        pass


def test_an_engine_that_accepts_everything_is_found_out(tmp_path, monkeypatch, capsys):
    settings = make_experiment(tmp_path, prompts=1)
    ready = methods.ready_draft
    monkeypatch.setattr(methods, "ready_draft", lambda settings, name, target: (
        ready(settings, name, target) if name == VANILLA else Stubborn(Vanilla.Config(width=target.width, k=2))))
    assert run_verify(settings), "token 7 is never the target's choice, so a right engine rejects it"

    def accept_all(drafted, best):
        return torch.tensor(len(drafted)), best[-1]

    monkeypatch.setattr(specflash.decoding, "accept_greedy", accept_all)
    (settings.run / "verify" / "rows.jsonl").unlink()
    verdict = run_verify(settings)
    assert not verdict
    assert {outcome.method for outcome in verdict.failures} == {"eagle", "specflash"}
    assert {outcome.position for outcome in verdict.failures} == {1}
    assert all(outcome.gap > 0 for outcome in verdict.failures)
    assert json.loads((settings.run / "verify.json").read_text())["lossless"] is False
    assert "NOT lossless" in capsys.readouterr().out


def test_a_limited_check_takes_prompts_from_every_part(verified):
    prompts = list(range(10))
    assert verify_plan.spread(prompts, 3) == [0, 3, 6]
    assert verify_plan.spread(prompts, None) == prompts
