"""A pair that differs at temperature 0, put before the gate's rule on a loaded target. It keeps no rule of its own."""

from collections.abc import Sequence
from typing import Any

from flashbench.bench.ties import difference
from flashbench.serve.events import Order
from specflash.targets.base import Target


def judge(target: Target, order: Order, ours: Sequence[int], reference: Sequence[int]) -> dict[str, Any]:
    """Where the greedy answer `ours` leaves `reference`, and whether rounding explains it (bench/ties.py)."""
    return difference(target, target.encode(order.sample), ours, reference)
