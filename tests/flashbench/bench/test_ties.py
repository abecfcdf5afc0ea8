"""A difference is a tie only in low precision, and only between tokens that the target likes equally."""

import pytest
import torch

from flashbench.bench.ties import ROUNDINGS, difference, rounding
from flashbench.verify.compare import next_logits, top_two_gap
from tests.tiny import make_sample, tiny_target


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def asked(request, tmp_path_factory):
    """(target, prompt, its first three tokens in order of preference)"""
    target = tiny_target(tmp_path_factory.mktemp("target"), request.param)
    prompt = target.encode(make_sample())
    return target, prompt, next_logits(target, prompt, []).topk(3)


def test_equal_answers_do_not_differ(asked):
    target, prompt, _ = asked
    assert difference(target, prompt, [1, 2], [1, 2]) == {
        "identical": True, "first_difference": None, "gap": None, "tie": None}


def test_between_the_two_first_choices_the_gap_is_that_of_the_check(asked):
    target, prompt, best = asked
    first, second, third = best.indices.tolist()
    assert difference(target, prompt, [second], [first])["gap"] == top_two_gap(target, prompt, [])
    assert difference(target, prompt, [first], [third])["gap"] == float(best.values[0]) - float(best.values[2])


def test_a_difference_is_a_tie_where_it_lies_within_rounding_and_never_in_float32(asked):
    target, prompt, best = asked
    first, second, _ = best.indices.tolist()
    found = difference(target, prompt, [second, 5], [first])
    assert (found["identical"], found["first_difference"]) == (False, 0)
    assert found["tie"] is (found["gap"] < rounding(target.dtype, float(best.values[0])))
    assert not difference(target, prompt, [int(next_logits(target, prompt, []).argmin())], [first])["tie"]


def test_an_answer_that_ends_early_is_no_tie(asked):
    target, prompt, best = asked
    told = difference(target, prompt, [int(best.indices[0])], [int(best.indices[0]), 7])
    assert told == {"identical": False, "first_difference": 1, "gap": None, "tie": False}


def test_rounding_grows_with_the_logit_and_with_the_step_of_the_format():
    assert rounding(torch.float32, 20.0) == 0
    assert rounding(torch.bfloat16, 16.0) == ROUNDINGS * 16 / 128
    assert rounding(torch.float16, 16.0) == ROUNDINGS * 16 / 1024
