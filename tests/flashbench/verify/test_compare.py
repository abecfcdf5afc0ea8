"""Where two answers part, and whether rounding explains it."""

import copy

import pytest
import torch

from flashbench.verify.compare import divergence, first_difference, replay, top_two_gap, ulp, unrest
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla
from specflash.records import Output
from specflash.sampling import Sampling
from tests.tiny import make_sample, tiny_target


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    target = tiny_target(tmp_path_factory.mktemp("tiny-llava"))
    target.end_ids = frozenset([2])
    return target


@pytest.fixture(scope="module")
def prompt(target):
    return target.encode(make_sample())


@pytest.fixture(scope="module")
def text(target, prompt):
    return generate(target, Vanilla(Vanilla.Config(width=32)), prompt, Sampling(max_new_tokens=8)).ids


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


@pytest.mark.parametrize(("value", "dtype", "step"), [
    (1.0, torch.bfloat16, 2**-7), (1.99, torch.bfloat16, 2**-7), (20.0, torch.bfloat16, 2**-3),
    (-20.0, torch.bfloat16, 2**-3), (0.5, torch.float32, 2**-24), (0.0, torch.bfloat16, 2**-133)])
def test_an_ulp_is_the_step_to_the_next_number(value, dtype, step):
    assert ulp(value, dtype) == step


def test_the_replay_prefers_what_vanilla_said(target, prompt, text):
    assert replay(target, prompt, text)[:-1].argmax(-1).tolist() == text


def test_equal_answers_have_no_divergence(target, prompt, text):
    assert divergence(target, prompt, text, text) is None


def test_a_token_the_target_does_not_want_is_real(target, prompt, text):
    found = divergence(target, prompt, [*text[:3], (text[3] + 1) % 300, *text[4:]], text)
    assert (found.position, found.kind) == (3, "real")
    assert found.gap == pytest.approx(top_two_gap(target, prompt, text[:3]))
    assert found.lag > 4


def nearly_tied(target, prompt, text, place, steps, alone=None):
    """The target, its second choice at `place` brought to `steps` ulps of bf16 below its first, and that choice.

    alone  the steps where the token at `place` is read behind a cache; None: the same
    """
    first, second = replay(target, prompt, text)[place].topk(2).indices.tolist()
    blurred = copy.copy(target)

    def forward(embeds, cache, positions, mask, keep, inner=None):
        start = 0 if cache is None else cache.position
        output = target.forward(embeds, cache, positions, mask, keep, inner)
        logits = output.logits.clone()
        row = prompt.length - 1 + place - (start + embeds.shape[1] - keep)
        if 0 <= row < keep:
            best = logits[0, row, first]
            below = steps if cache is None or alone is None else alone
            logits[0, row, second] = best - below * ulp(best, torch.bfloat16)
        return Output(output.features, logits)

    blurred.forward, blurred.dtype = forward, torch.bfloat16
    return blurred, second


@pytest.mark.parametrize(("steps", "kind"), [(0, "tie"), (3, "tie"), (6, "real")])
def test_a_divergence_is_a_tie_where_few_ulps_part_the_choices(target, prompt, text, steps, kind):
    """The answer goes on from the second choice with what the target then wants."""
    blurred, second = nearly_tied(target, prompt, text, 3, steps)
    ours = [*text[:3], second]
    while len(ours) < len(text):
        ours.append(int(replay(target, prompt, ours)[-1].argmax()))
    found = divergence(blurred, prompt, ours, text)
    assert (found.position, found.kind) == (3, kind)
    assert found.ulps == pytest.approx(steps, abs=0.1)


@pytest.mark.parametrize(("alone", "limit", "kind"), [(6, 4, "real"), (11, 5, "real"), (13, 7, "tie"), (0, 6, "tie")])
def test_a_wider_gap_is_a_tie_where_the_target_alone_rounds_as_wide(target, prompt, text, alone, limit, kind):
    """In one pass six ulps part the choices; read token by token, they stand `alone` ulps apart."""
    blurred, second = nearly_tied(target, prompt, text, 3, 6, alone)
    ours = [*text[:3], second]
    while len(ours) < len(text):
        ours.append(int(replay(target, prompt, ours)[-1].argmax()))
    found = divergence(blurred, prompt, ours, text)
    assert found.kind == kind
    assert found.limit == pytest.approx(limit, abs=0.1)


def test_in_float32_the_targets_own_rounding_widens_nothing(target, prompt, text):
    blurred, second = nearly_tied(target, prompt, text, 3, 6, 1e6)
    blurred.dtype = torch.float32
    assert divergence(blurred, prompt, [*text[:3], second, *text[4:]], text).limit == 4


def test_the_unrest_of_a_target_that_rounds_nothing_is_next_to_nothing(target, prompt, text):
    assert unrest(target, prompt, text) * torch.finfo(torch.float32).eps < 1e-4


def test_a_tie_excuses_nothing_that_comes_later(target, prompt, text):
    blurred, second = nearly_tied(target, prompt, text, 3, 1)
    worst = int(replay(target, prompt, [*text[:3], second])[-1].argmin())
    assert divergence(blurred, prompt, [*text[:3], second, worst, *text[5:]], text).kind == "real"


def test_a_missing_or_a_further_token_is_no_tie(target, prompt, text):
    for ours in (text[:-1], [*text, text[0]]):
        assert divergence(target, prompt, ours, text).kind == "real"


def test_a_tie_does_not_excuse_an_answer_that_runs_past_its_end(target, prompt, text):
    blurred, second = nearly_tied(target, prompt, text, 3, 0)
    blurred.end_ids = frozenset([second])
    ours = [*text[:3], second]
    while len(ours) < len(text):
        ours.append(int(replay(target, prompt, ours)[-1].argmax()))
    assert divergence(blurred, prompt, ours, text).kind == "real"
    assert divergence(blurred, prompt, ours[:4], text).kind == "tie"
