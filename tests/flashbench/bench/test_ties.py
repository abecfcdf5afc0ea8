"""The row says what the gate says of a difference; in float32 it is never a tie."""

import pytest
import torch

from flashbench.bench.ties import SAME, difference
from flashbench.verify.compare import divergence, replay
from tests.tiny import make_sample, tiny_target


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def asked(request, tmp_path_factory):
    """(target, prompt, its first two tokens in order of preference)"""
    target = tiny_target(tmp_path_factory.mktemp("target"), request.param)
    prompt = target.encode(make_sample())
    return target, prompt, replay(target, prompt, [])[-1].float().topk(2).indices.tolist()


def test_equal_answers_do_not_differ(asked):
    target, prompt, _ = asked
    assert difference(target, prompt, [1, 2], [1, 2]) == SAME


def test_a_difference_is_what_the_gate_calls_it(asked):
    target, prompt, (first, second) = asked
    found, told = divergence(target, prompt, [second], [first]), difference(target, prompt, [second], [first])
    assert told == {"identical": False, "first_difference": 0, "gap": found.gap,
                    "tie": found.kind == "tie" and target.dtype == torch.bfloat16}


def test_a_token_that_the_target_dislikes_is_no_tie(asked):
    target, prompt, (first, _) = asked
    worst = int(replay(target, prompt, [])[-1].argmin())
    assert difference(target, prompt, [worst], [first])["tie"] is False


def test_an_answer_that_ends_early_is_no_tie(asked):
    target, prompt, (first, _) = asked
    told = difference(target, prompt, [first], [first, 7])
    assert (told["first_difference"], told["tie"]) == (1, False)
