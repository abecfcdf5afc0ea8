"""Who answers `auto`: always the same for a user, by weight for all, and as few as possible move."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from flashbench.serve.ab.route import full_weights, pick
from flashbench.verify.chi_square import tail
from specflash.errors import UserError

WEIGHTS = {"vanilla": 1.0, "eagle": 2.0, "specflash": 5.0}
USERS = [f"user-{number}" for number in range(4000)]


def deal(weights, salt="s"):
    return {user: pick(weights, salt, user, Random(0)) for user in USERS}


def misfit(counts: Counter, weights: dict[str, float]) -> float:
    """p of the χ² test of the counts against the weights' shares."""
    total, of_all = sum(counts.values()), sum(weights.values())
    expected = {name: total * weight / of_all for name, weight in weights.items()}
    return tail(sum((counts[name] - wanted) ** 2 / wanted for name, wanted in expected.items()), len(weights) - 1)


def test_a_user_stays_with_a_method():
    assert deal(WEIGHTS) == deal(dict(reversed(WEIGHTS.items())))


def test_users_are_dealt_by_weight():
    assert misfit(Counter(deal(WEIGHTS).values()), WEIGHTS) > 0.001


def test_without_a_user_chance_deals_by_weight():
    chance = Random(1)
    assert misfit(Counter(pick(WEIGHTS, "s", None, chance) for _ in range(4000)), WEIGHTS) > 0.001


def test_users_alike_but_in_name_are_dealt_independently():
    """Neighbours share a method as often as chance would have it: Σ share² = 30/64."""
    dealt = list(deal(WEIGHTS).values())
    same = sum(one == other for one, other in pairwise(dealt)) / (len(dealt) - 1)
    assert same == pytest.approx(30 / 64, abs=0.04)


def test_only_those_move_whom_the_new_share_of_a_method_calls():
    before, after = deal(WEIGHTS), deal(WEIGHTS | {"vanilla": 4.0})
    moved = [user for user in USERS if before[user] != after[user]]
    assert {after[user] for user in moved} == {"vanilla"}
    assert len(moved) / len(USERS) == pytest.approx(4 / 11 - 1 / 8, abs=0.03)


def test_a_user_moves_only_to_a_method_that_grew_against_the_one_it_leaves():
    new = {"vanilla": 3.0, "eagle": 2.0, "specflash": 1.0}
    before, after = deal(WEIGHTS), deal(new)
    growth = {name: new[name] / WEIGHTS[name] for name in new}
    moved = [(before[user], after[user]) for user in USERS if before[user] != after[user]]
    assert moved
    assert all(growth[to] > growth[of] for of, to in moved)


def test_the_same_weights_on_another_scale_move_nobody():
    assert deal({name: 7 * weight for name, weight in WEIGHTS.items()}) == deal(WEIGHTS)


def test_another_salt_deals_anew():
    one, other = deal(WEIGHTS), deal(WEIGHTS, "t")
    same = sum(one[user] == other[user] for user in USERS) / len(USERS)
    assert same == pytest.approx(30 / 64, abs=0.04)


def test_weight_0_answers_nothing():
    assert set(deal(WEIGHTS | {"specflash": 0.0}).values()) == {"vanilla", "eagle"}


@pytest.mark.parametrize("user", ["", "é\ud800", "x" * 10_000])
def test_every_text_is_a_user(user):
    assert pick(WEIGHTS, "s", user, Random(0)) == pick(WEIGHTS, "s", user, Random(1))


def test_without_weights_all_answer_alike():
    assert full_weights({}, ("a", "b")) == {"a": 1.0, "b": 1.0}


def test_who_is_left_out_answers_nothing():
    assert full_weights({"a": 3}, ("a", "b")) == {"a": 3.0, "b": 0.0}


def test_a_weight_of_nobody_is_told():
    with pytest.raises(UserError, match=r"names `specflsh`, which is not served \(did you mean `specflash`\?\)"):
        full_weights({"specflsh": 1}, ("vanilla", "specflash"))


@pytest.mark.parametrize("weight", [5e-324, 9e-7, 2e6, 1e308])
def test_a_weight_whose_share_would_be_lost_is_refused(weight):
    with pytest.raises(UserError, match=r"`weights\.a`: .* is neither 0 nor between 1e-06 and 1e\+06"):
        full_weights({"a": weight, "b": 1}, ("a", "b"))
    assert full_weights({"a": 1e-6, "b": 1e6}, ("a", "b")) == {"a": 1e-6, "b": 1e6}
