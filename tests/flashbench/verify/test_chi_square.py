"""The χ² test and its correction, against scipy."""

from collections import Counter

import pytest
import torch
from scipy import stats

from flashbench.verify.chi_square import chi_square, holm, tail


def test_the_statistic_and_its_tail_are_scipy_s():
    ours, reference = Counter({1: 30, 2: 50, 3: 20}), Counter({1: 60, 2: 90, 3: 90})
    statistic, freedom = chi_square(ours, reference)
    expected = stats.chi2_contingency([[30, 50, 20], [60, 90, 90]], correction=False)
    assert (statistic, freedom) == (pytest.approx(expected.statistic), expected.dof)
    assert tail(statistic, freedom) == pytest.approx(expected.pvalue)


def test_rare_tokens_share_a_class():
    ours, reference = Counter({1: 90, 2: 5, 3: 2, 4: 3}), Counter({1: 92, 5: 1, 2: 5, 6: 2})
    expected = stats.chi2_contingency([[90, 5, 5], [92, 5, 3]], correction=False)
    assert chi_square(ours, reference) == (pytest.approx(expected.statistic), 2)


def test_one_class_says_nothing():
    assert chi_square(Counter({1: 9}), Counter({1: 9})) == (0, 0)
    assert tail(0, 0) == 1


def test_holm_s_correction():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


def test_samples_of_one_law_rarely_differ_and_of_two_laws_do():
    generator = torch.Generator().manual_seed(0)
    law, other = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.4, 0.3, 0.3])

    def p_value(one, two):
        samples = (torch.multinomial(law, 4000, True, generator=generator) for law in (one, two))
        return tail(*chi_square(*(Counter(sample.tolist()) for sample in samples)))

    assert sum(p_value(law, law) < 0.05 for _ in range(200)) < 25
    assert p_value(law, other) < 1e-3
