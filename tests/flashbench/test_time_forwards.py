import pytest

from flashbench.time_forwards import ROWS, time_forwards
from tests.tiny import tiny_target


def test_every_row_count_is_timed(tmp_path):
    times = time_forwards(tiny_target(tmp_path), repeats=2)
    assert tuple(times) == ROWS
    assert all(0 < seconds < 5 for seconds in times.values())


@pytest.mark.gpu
def test_a_few_rows_cost_little_more_than_one_on_a_gpu():
    from specflash.targets import load_target

    times = time_forwards(load_target("llava-smol", dtype="bfloat16", device="cuda"), repeats=5)
    assert times[8] < 2 * times[1]
