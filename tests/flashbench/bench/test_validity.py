"""Every way in which a comparison can be invalid costs the speed-up and is said; the rest of the line stays."""

import pytest

from flashbench.bench.results import Results
from flashbench.bench.rows import VANILLA
from flashbench.bench.summary import summarise
from flashbench.bench.table import show_summary
from flashbench.bench.validity import IDENTITY_TOLERANCE, reasons
from tests.flashbench.scripted import planned, row, scripted_rows, scripted_summary

QUIET = {"verdict": "quiet"}


def broken(method: str, sample: str, **change) -> list[dict]:
    return [{**one, **change} if (one["method"], one["sample"]) == (method, sample) else one for one in scripted_rows()]


def said(rows, method: str = "drafty", plan=None) -> list[str]:
    return reasons(method, Results(plan or planned(scripted_rows()).pieces, rows), QUIET)


def test_a_whole_comparison_has_no_reason_against_it():
    assert said(scripted_rows()) == said(scripted_rows(), VANILLA) == said(scripted_rows(), "hf-generate") == []


@pytest.mark.parametrize(("change", "told"), [
    ({"max_new_tokens": 64}, "drafty used max_new_tokens 64 in 1 answers where vanilla used 7"),
    ({"dtype": "float32"}, "drafty used dtype float32 in 1 answers where vanilla used bfloat16"),
    ({"attention": "eager"}, "drafty used attention eager in 1 answers where vanilla used sdpa"),
    ({"threads": 2}, "drafty used threads 2 in 1 answers where vanilla used 1"),
    ({"device": "cuda:0"}, "drafty used device cuda:0 in 1 answers where vanilla used cpu"),
    ({"top_p": 0.9}, "drafty used top_p 0.9 in 1 answers where vanilla used 1.0"),
    ({"seed": 5}, "drafty used seed 5 in 1 answers where vanilla used 0"),
    ({"identical": False, "first_difference": 3, "gap": 2.5, "tie": False},
     "1 of 2 answers of drafty differ from vanilla's and no rounding explains it "
     "(first: token 3 of instruct/p1, where logits are 2.5 apart)"),
])
def test_what_differs_from_vanilla_is_named(change, told):
    assert told in said(broken("drafty", "p1", **change))


def test_what_both_did_otherwise_than_planned_is_named():
    rows = [{**one, "dtype": "float16"} for one in scripted_rows()]
    assert said(rows) == [f"{name} used dtype float16 in 2 answers where the plan says bfloat16"
                          for name in ("drafty", "vanilla")]


@pytest.mark.parametrize("method", ["drafty", "vanilla"])
def test_a_missing_answer_is_counted_with_what_the_method_raised(method):
    rows = [one for one in scripted_rows() if (one["method"], one["sample"]) != (method, "p2")]
    failure = {**row(method, "p2", [], {}), "reason": "ValueError: no"}
    part = Results(planned(scripted_rows()).pieces, rows, [failure])
    assert reasons("drafty", part, QUIET) == [f"{method} gave 1 of 2 planned answers: ValueError: no"]


def test_a_repeat_less_than_planned_and_an_answer_too_many_are_named():
    twice = [*scripted_rows(), *({**one, "repeat": 1, "seed": 1} for one in scripted_rows())]
    plan = planned(twice).pieces
    assert "drafty gave 2 of 4 planned answers" in said(scripted_rows(), plan=plan)
    assert "drafty has 2 answers that the plan does not ask for" in said(twice)


def test_sampled_text_may_differ():
    rows = [{**one, "temperature": 0.7, "identical": None, "tie": None} for one in scripted_rows()]
    assert said(rows, plan=planned(rows).pieces) == []


def test_accounts_that_do_not_add_up_are_refused():
    """The identity is exact by definition, so only rows that lie about their passes can break it."""
    lying = [{**one, "committed": [], "tokens": 1} if one["method"] == "drafty" and one["sample"] == "p2" else one
             for one in scripted_rows()]
    (reason,) = said(lying)
    assert reason.startswith("the accounts of drafty do not add up: R_decode is ")


def test_the_identity_holds_far_within_its_tolerance():
    for line in scripted_summary(scripted_rows())["rows"]:
        assert abs(line["speedup_decode_deviation"]) < IDENTITY_TOLERANCE / 1000


def with_second_turn(factor: float) -> list[dict]:
    again = [{**one, "method": "vanilla-again",
              "seconds": {phase: factor * took for phase, took in one["seconds"].items()}}
             for one in scripted_rows() if one["method"] == VANILLA]
    return [*scripted_rows(), *again]


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "quiet"), (1.09, "quiet"), (1.11, "noisy"), (0.9, "noisy")])
def test_vanilla_against_itself_says_how_noisy_the_machine_is(factor, verdict):
    summary = summarise(planned(with_second_turn(factor)), noise_band=0.1)
    (noise,) = summary["noise"]
    assert (noise["prompts"], noise["verdict"]) == (2, verdict)
    assert noise["ratio"] == pytest.approx(factor)
    assert noise["ratio_interval"] == pytest.approx([factor, factor])
    assert summary["valid"] is (verdict == "quiet")
    assert [line["method"] for line in summary["rows"]] == ["vanilla", "drafty"]


def test_a_noisy_machine_costs_every_method_and_control_its_speed_up():
    summary = summarise(planned(with_second_turn(1.5)), noise_band=0.1)
    (refusal,) = summary["refusals"]
    assert refusal["lines"] == ["drafty, instruct", "drafty, all in domain", "hf-generate, instruct"]
    assert "a second run of vanilla took 1.500 times as long as the first" in refusal["reason"]


def test_a_machine_that_was_not_checked_is_said_to_be(capsys):
    summary = scripted_summary(scripted_rows())
    assert summary["noise"][0]["verdict"] == "unchecked"
    assert summary["valid"]
    show_summary(summary)
    assert "the speed-ups are unchecked" in capsys.readouterr().out


def test_a_refused_line_keeps_what_it_measured_and_shows_a_dash_with_the_reason(capsys):
    summary = scripted_summary(broken("drafty", "p1", dtype="float32"))
    line = next(line for line in summary["rows"] if line["method"] == "drafty")
    kept = {name: value for name, value in line.items() if "speedup" not in name}
    assert kept["accept_length"] == 2.4
    assert all(value in (None, [None, None], []) for name, value in line.items() if "speedup" in name)
    assert not summary["valid"]
    show_summary(summary)
    shown = capsys.readouterr().out
    assert "2.40 [2.00, 3.00]" not in shown
    assert "No speed-up of drafty, instruct; drafty, all in domain: drafty used dtype float32" in shown


def test_a_method_that_never_answered_still_has_its_line():
    whole = planned(scripted_rows())
    rows = [one for one in scripted_rows() if one["method"] != "drafty"]
    failures = [{**row("drafty", sample, [], {}), "reason": "RuntimeError: boom"} for sample in ("p1", "p2")]
    summary = summarise(Results(whole.pieces, rows, failures), noise_band=0.1)
    line = next(line for line in summary["rows"] if line["method"] == "drafty")
    assert (line["prompts"], line["accept_length"], line["ttft_ms"]) == (0, None, None)
    assert line["refused"] == ["drafty gave 0 of 2 planned answers: RuntimeError: boom"]
