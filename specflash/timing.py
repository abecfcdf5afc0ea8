"""Seconds per phase. It knows no model and no loop."""

from time import perf_counter

import torch


class Stopwatch:
    """Charges all time since the last mark to a phase, so the phases add up to the wall time.

    seconds  phase -> seconds, added to in place
    device   CUDA work is waited for at every mark; elsewhere work is finished when it returns
    """

    def __init__(self, seconds: dict[str, float], device: torch.device):
        self._seconds = seconds
        self._device = device
        self._mark = 0.0

    def start(self) -> None:
        """Time from here on counts (time between two steps, spent by others, does not)."""
        self._mark = self._now()

    def lap(self, phase: str) -> None:
        """What ran since the last mark was `phase`."""
        now = self._now()
        self._seconds[phase] += now - self._mark
        self._mark = now

    def _now(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return perf_counter()
