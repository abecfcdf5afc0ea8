"""What two results were measured under, told by name."""

import pytest

from flashbench.compare.conditions import conditions_of, differences


@pytest.mark.parametrize(("gpus", "told"), [([], "none"), (["NVIDIA H200", "NVIDIA L4"], "NVIDIA H200, NVIDIA L4")])
def test_the_gpus_of_a_machine_are_named(gpus, told):
    assert conditions_of({"fingerprint": {"machine": {"gpus": gpus}}}) == {"gpus": told}


def test_what_only_one_of_two_tells_is_no_difference():
    before, after = ({"fingerprint": {"machine": machine}} for machine in ({"cpu": "a"}, {"cpu": "a", "gpus": ["b"]}))
    assert differences(conditions_of(before), conditions_of(after)) == []
