"""The roofline is an identity: A / (1 + c) is the measured R."""

import pytest

from dashboards.report.cost import round_costs
from dashboards.report.lines import placed
from tests.flashbench.scripted import scripted_run


def test_the_roofline_gives_back_the_speed_up(tmp_path):
    """Vanilla: 12 s for 12 tokens. Five rounds took 1 s of drafting, 3.5 s of passes and 0.5 s of the rest."""
    (line, cost), = round_costs(placed(scripted_run(tmp_path), "overall"))
    assert (cost.draft, cost.verify, cost.other) == pytest.approx((0.2, 0.7, 0.1))
    assert line["accept_length"] / (1 + cost.c) == pytest.approx(line["speedup_decode"])


def test_a_refused_line_has_no_cost(tmp_path):
    lines = placed(scripted_run(tmp_path), "overall")
    assert round_costs([line | {"speedup_decode": None} for line in lines]) == []
