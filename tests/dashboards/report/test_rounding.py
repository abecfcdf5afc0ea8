"""One rule for every number: the nearest decimal, and never all or nothing where it is not."""

import pytest

from dashboards.report.rounding import derived, exact, shown


@pytest.mark.parametrize(("key", "value", "text"), [
    ("speedup_decode", 2.5149999, "2.51"), ("speedup_decode", 2.515000001, "2.52"), ("accept_length", 3.0, "3.00"),
    ("speedup_decode", None, "–"), ("ttft_ms", 1699.5001, "1700"), ("tpot_ms", 43.44, "43.4"),
    ("output_tps", 0.04, "0.0"),    ("prompts", 12, "12"), ("seconds", 1.005, "1.00"), ("seconds", -1e-16, "0.00"),
    ("identical_share", 1.0, "100 %"), ("identical_share", 0.999, "> 99 %"), ("identical_share", 0.994, "99 %"),
    ("identical_share", 0.004, "< 1 %"), ("identical_share", 0.0, "0 %"), ("acceptance_by_position", 0.786, "79 %"),
])
def test_a_value_is_rounded_by_its_key(key, value, text):
    assert shown(key, value) == text


def test_the_exact_value_stands_beside_the_text():
    assert exact("rows.3.speedup_decode_interval.0", 0.1 + 0.2) == \
        '<data data-path="rows.3.speedup_decode_interval.0" value="0.30000000000000004">0.30</data>'
    assert derived(1 / 3) == '<data value="0.3333333333333333">0.33</data>'


def test_a_place_is_text_in_an_attribute():
    assert '"><b' not in exact('rows.0."><b', 1.0)
