"""The plan: who answers what, in which order, and which experiments go together."""

import pytest

from flashbench.bench.plan import make_plan
from flashbench.bench.rows import AGAIN, HF_GENERATE
from flashbench.settings import save_settings
from specflash.errors import UserError
from tests.flashbench.experiment import make_experiment

OURS = ("vanilla", "eagle", "specflash")


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return make_experiment(tmp_path_factory.mktemp("experiment"), prompts=5)


def planned(settings, **change):
    return make_plan(settings.model_copy(update={"bench": settings.bench.model_copy(update=change)}))


def test_every_prompt_is_asked_at_every_temperature(settings):
    (experiment,) = planned(settings, temperatures=(0.0, 0.7))
    assert [piece.temperature for piece in experiment.pieces] == [0.0] * 5 + [0.7] * 5
    assert len({piece.key for piece in experiment.pieces}) == 10


def test_vanilla_again_and_the_controls_take_part_on_every_nth_prompt(settings):
    (experiment,) = planned(settings, noise_every=2, controls_every=3)
    assert [set(piece.methods) - set(OURS) for piece in experiment.pieces] == [
        {AGAIN, HF_GENERATE}, set(), {AGAIN}, {HF_GENERATE}, {AGAIN}]


def test_what_is_switched_off_takes_no_part_nor_do_greedy_controls_where_text_is_sampled(settings):
    (experiment,) = planned(settings, noise_every=0, temperatures=(0.0, 1.0))
    assert [piece.methods for piece in experiment.pieces] == [(*OURS, HF_GENERATE)] * 5 + [OURS] * 5


def test_methods_run_in_another_order_for_other_prompts_and_repeats_and_in_the_same_again(settings):
    pieces = planned(settings, seed=3)[0].pieces
    orders = [piece.turns(repeat) for piece in pieces for repeat in range(4)]
    assert all(sorted(order) == sorted(pieces[0].methods) for order in orders)
    assert {order[0] for order in orders} == set(pieces[0].methods)
    assert orders == [piece.turns(repeat) for piece in planned(settings, seed=3)[0].pieces for repeat in range(4)]


def test_every_repeat_has_a_seed_of_its_own(settings):
    piece = planned(settings, seed=3, temperatures=(0.5,))[0].pieces[0]
    assert [(piece.sampling(repeat).seed, piece.sampling(repeat).temperature) for repeat in range(2)] == [
        (3, 0.5), (4, 0.5)]


def test_a_further_target_is_measured_as_the_plans_own(settings, tmp_path):
    small = settings.model_copy(update={
        "target": settings.target.model_copy(update={"name": "llava-smol", "dtype": "float32"}),
        "bench": settings.bench.model_copy(update={"repeats": 7, "methods": ("vanilla", "eagle")})})
    save_settings(small, tmp_path / "small.yaml")
    first, second = planned(settings, also=(tmp_path / "small.yaml",), repeats=2)
    assert {(piece.target, piece.dtype, piece.repeats) for piece in first.pieces} == {("llava-1.5", "bfloat16", 2)}
    assert {(piece.target, piece.dtype, piece.repeats) for piece in second.pieces} == {("llava-smol", "float32", 2)}
    assert second.pieces[1].methods == ("vanilla", "eagle", AGAIN, HF_GENERATE)


def test_experiments_that_do_not_go_together_are_refused(settings, tmp_path):
    save_settings(settings, tmp_path / "same.yaml")
    with pytest.raises(UserError, match=r"two experiments measure the target `llava-1\.5`"):
        planned(settings, also=(tmp_path / "same.yaml",))
    chained = settings.model_copy(update={"bench": settings.bench.model_copy(update={"also": (tmp_path / "a.yaml",)})})
    save_settings(chained, tmp_path / "chain.yaml")
    with pytest.raises(UserError, match="names further experiments itself"):
        planned(settings, also=(tmp_path / "chain.yaml",))
