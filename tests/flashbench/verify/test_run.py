"""The verify stage: equal answers pass, a broken engine fails with the place where it broke."""

import json

import pytest
import torch

import specflash.decoding
from flashbench.bench import methods
from flashbench.bench.rows import VANILLA
from flashbench.verify import run as verify_run
from flashbench.verify import run_verify
from flashbench.verify.compare import first_difference, top_two_gap
from flashbench.verify.verdict import Verdict
from specflash.drafts.base import Session
from specflash.drafts.vanilla import Vanilla
from specflash.records import Proposal
from tests.flashbench.experiment import make_experiment
from tests.tiny import make_sample, tiny_target


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    settings = make_experiment(tmp_path_factory.mktemp("experiment"))
    return settings, run_verify(settings)


def test_the_drafts_are_lossless(verified):
    _, verdict = verified
    assert verdict
    assert verdict.failures == []


def test_every_draft_is_held_against_vanilla_on_every_prompt(verified):
    counts = {(line["check"], line["method"]): (line["answers"], line["equal"]) for line in verified[1].lines()}
    assert counts == {("float32", "eagle"): (3, 3), ("float32", "specflash"): (3, 3),
                      ("outside", "hf-generate"): (3, 3), ("exact", "eagle"): (3, 3), ("exact", "specflash"): (3, 3)}


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
    assert run_verify(settings) == verdict
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
    assert asked == [{"plain": True}]
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


@pytest.mark.parametrize(("ours", "reference", "place"), [
    ([1, 2, 3], [1, 2, 3], None), ([1, 9, 3], [1, 2, 3], 1), ([1, 2], [1, 2, 3], 2), ([1, 2, 3], [1, 2], 2),
    ([], [], None)])
def test_the_first_difference(ours, reference, place):
    assert first_difference(ours, reference) == place


def test_the_gap_is_that_of_the_targets_own_logits(tmp_path):
    target = tiny_target(tmp_path)
    prompt = target.encode(make_sample())
    answer = [10, 11]
    ids = torch.cat([prompt.ids, torch.tensor([answer])], dim=1)
    logits = target.model(input_ids=ids, **prompt.pixels).logits[0, -1]
    first, second = logits.topk(2).values.tolist()
    assert top_two_gap(target, prompt, answer) == pytest.approx(first - second, abs=1e-5)


def test_a_limited_check_takes_prompts_from_every_part(verified):
    prompts = list(range(10))
    assert verify_run.spread(prompts, 3) == [0, 3, 6]
    assert verify_run.spread(prompts, None) == prompts
