"""Every convention of accepted length on one scripted trace, each value worked out by hand.

Answer a, K = 4, three passes; the end token cuts the last:   kept 4 0 2   drafted 4 4 4   committed 5 1 2
Answer b, two passes; the limit leaves the last no draft:      kept 1 0     drafted 2 0     committed 2 1

passes 3 + 2 = 5, with a draft 4      kept 6 + 1 = 7           kept + 1: 7 + 5 = 12
committed 8 + 3 = 11                  tokens 9 + 4 = 13        last indices 2 + 1 = 3
slot 0 is kept in 3 of 4 passes, slot 1 then in 2 of 3, slot 2 then in 1 of 2, slot 3 then in 1 of 1
"""

import math

import pytest

from specflash.conventions import CONVENTIONS, accept_length_conventions
from specflash.metrics import E2E, Row, accept_length

NO_TIME = dict.fromkeys(E2E.phases, 0.0)
TRACE = [Row("a", kept=[4, 0, 2], drafted=[4, 4, 4], committed=[5, 1, 2], seconds=NO_TIME),
         Row("b", kept=[1, 0], drafted=[2, 0], committed=[2, 1], seconds=NO_TIME)]
VANILLA = [Row("a", kept=[0, 0], drafted=[0, 0], committed=[1, 1], seconds=NO_TIME)]
FIRST_TOKEN_ONLY = [Row("a", kept=[], drafted=[], committed=[], seconds=NO_TIME)]

BY_HAND = {
    "committed_per_pass": 11 / 5,
    "kept_plus_one": 12 / 5,
    "one_plus_kept_per_draft": 1 + 7 / 4,
    "kept_drafts": 7 / 5,
    "tokens_per_pass": 13 / 5,
    "tokens_per_last_index": 13 / 3,
    "kept_plus_one_per_last_index": 12 / 3,
    "expected_drafts": 3 / 4 + 2 / 4 + 1 / 4 + 1 / 4,
}


def test_every_convention_has_the_value_worked_out_by_hand():
    assert accept_length_conventions(TRACE) == pytest.approx(BY_HAND, rel=1e-15)


def test_conventions_agree_with_our_own_names_for_them():
    own, others = accept_length(TRACE), accept_length_conventions(TRACE)
    assert (own.pooled, own.flashsd_steps, own.flashsd_idx) == (
        others["committed_per_pass"], others["tokens_per_pass"], others["tokens_per_last_index"])


def test_vanilla_commits_one_token_a_pass_and_keeps_no_draft():
    measured = accept_length_conventions(VANILLA)
    assert (measured["committed_per_pass"], measured["kept_plus_one"], measured["kept_drafts"]) == (1, 1, 0)
    assert math.isnan(measured["one_plus_kept_per_draft"])
    assert math.isnan(measured["expected_drafts"])


def test_nothing_verified_has_no_accepted_length():
    assert all(math.isnan(value) for value in accept_length_conventions(FIRST_TOKEN_ONLY).values())


def test_every_convention_says_who_uses_it_and_how():
    assert all(convention.used_by and convention.law for convention in CONVENTIONS.values())
