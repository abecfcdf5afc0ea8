"""The learning rate of every optimiser step. It knows no optimiser and no model."""

from math import ceil


def warmup_steps(total: int, share: float) -> int:
    """Steps of the linear warm-up: `share` of the run, at least one."""
    return max(1, ceil(total * share))


def rate_share(step: int, warmup: int, total: int) -> float:
    """Share of the peak rate at a step (0-based): up to 1 in `warmup` steps, then down to 0 at `total`.

    total 6, warmup 2:   step   0    1    2    3    4    5   (6)
                         share  1/2  1    4/5  3/5  2/5  1/5  0
    """
    rising = (step + 1) / warmup
    falling = (total - step) / (total - warmup + 1)
    return max(0.0, min(rising, falling))
